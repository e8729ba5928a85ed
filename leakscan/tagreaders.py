"""Tags as mutagen reads them, with names that are safe to print.  The only place that imports mutagen.

It runs in a child process, see `tags.read_tags`, since mutagen lets all sorts of errors out of hostile files, and can
be made to hang or to fill the memory.  A name is `<system>.<key>`: `id3.TIT2`, `vorbis.title`, `mp4.©nam`, `ape.title`.
Keys that a release author chose could themselves be a secret: only keys of KEYS are printed as names, any other becomes
`vorbis.other`, and the key's text is then a value as well.
"""

# mypy: allow-untyped-calls
# mutagen annotates only part of its functions.

from __future__ import annotations

import base64
import binascii
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import mutagen.apev2
import mutagen.flac
import mutagen.id3
import mutagen.mp4
from mutagen._vorbis import VComment
from mutagen.mp4._atom import Atoms

from leakscan import cues
from leakscan.tags import LOOKED_AT, Pair, binary_text, text_runs

SWOLLEN = 32
"""How many times as much as a tag its values may be: text and pictures pack to a tenth at the most."""

# Keys that many taggers write.  The same key is spelled MUSICBRAINZ_TRACKID, "MusicBrainz Track Id" or
# musicbrainz_trackid: letter case, spaces, underscores and hyphens do not count.
KEYS = (
    # what the recording is
    "title", "subtitle", "version", "artist", "artists", "album", "albumartist", "ensemble", "composer", "lyricist",
    "writer", "conductor", "arranger", "performer", "remixer", "producer", "engineer", "mixer", "djmixer", "publisher",
    "label", "organization", "labelno", "catalog", "catalognumber", "barcode", "isrc", "ean/upc", "upc", "asin", "isbn",
    "copyright", "license", "contact", "location", "source", "sourcemedia", "media", "work", "movement", "grouping",
    "year", "date", "originaldate", "originalyear", "releasedate", "record_date", "file", "filename", "track",
    "tracknumber", "tracktotal", "totaltracks", "disc", "discnumber", "disctotal", "totaldiscs", "part", "opus",
    "titlesort", "artistsort", "albumsort", "albumartistsort", "composersort", "description", "comment", "comments",
    "url", "website", "podcasturl", "related", "language", "releasecountry", "releasetype", "releasestatus", "script",
    "metadata_block_picture", "coverart", "cover_art_(front)", "cover_art_(back)", "cuesheet", "cddb", "discid",
    "itunes_cddb_1", "itunes_cddb_tracknumber", "rating", "fmps_rating", "playcount",
    "musicbrainz_trackid", "musicbrainz_releasetrackid", "musicbrainz_recordingid", "musicbrainz_albumid",
    "musicbrainz_artistid", "musicbrainz_albumartistid", "musicbrainz_releasegroupid", "musicbrainz_workid",
    "musicbrainz_discid", "musicbrainz_albumtype", "musicbrainz_albumstatus", "acoustid_id", "acoustid_fingerprint",
    "musicip_puid", "discogs_release_id", "discogs_artist_id", "spotify_track_id",
    # what may be an answer
    "genre", "style", "mood", "bpm", "tempo", "key", "initialkey", "lyrics", "unsyncedlyrics", "energylevel",
    "instrument", "time_signature",
    # technical
    "encoder", "encodedby", "encoder_options", "encodersettings", "encoding", "encodingparams", "tool", "vendor",
    "compilation", "length", "major_brand", "minor_version", "compatible_brands", "creation_time",
    "replaygain_track_gain", "replaygain_track_peak", "replaygain_album_gain", "replaygain_album_peak",
    "replaygain_reference_loudness", "r128_track_gain", "r128_album_gain", "mp3gain_minmax", "mp3gain_undo",
    "mp3gain_album_minmax", "itunsmpb", "itunnorm", "itunpgap",
)  # fmt: skip


def _squashed(key: str) -> str:
    return re.sub(r"[ _-]", "", key).lower()


_KEYS = {_squashed(key): key for key in KEYS}

_MP4_KEYS = frozenset(
    "©nam ©alb ©ART aART ©wrt ©day ©cmt ©grp ©gen ©lyr ©too ©wrk ©mvn ©mvc ©mvi ©aut ©cpy ©dir ©prd ©url ©inf ©key "
    "©st3 desc ldes sdes cprt covr gnre tmpo trkn disk cpil pgap pcst stik hdvd rtng shwm apID ownr purd purl egid "
    "catg keyw soal soaa soar sonm soco sosn tvsh tven tves tvsn tvnn xid plID cnID geID atID sfID cmID akID".split()
)


def parse(request: bytes) -> bytes:
    """The pairs in a tag, or what is wrong with it, as JSON; `request` is the kind of tag, a NUL and its bytes."""
    kind, _, data = request.partition(b"\x00")
    try:
        pairs = list(dict.fromkeys(pair for pair in READERS[kind.decode()](data) if pair[1]))
    except MemoryError:
        raise
    except Exception as error:  # RecursionError, ValueError, IndexError, ZeroDivisionError, ...
        return json.dumps({"error": f"cannot be parsed ({type(error).__name__})"}).encode()
    if sum(len(value) for _, value in pairs) > SWOLLEN * len(data) + LOOKED_AT:
        return json.dumps({"error": "unpacks to far more than it is"}).encode()
    return json.dumps({"pairs": pairs}, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _id3(data: bytes) -> Iterator[Pair]:
    tag = mutagen.id3.ID3(io.BytesIO(data), translate=False, load_v1=False)
    yield from _frames(tag.values())
    for frame in tag.unknown_frames:
        yield "id3.other", frame[:4].decode("latin-1")
        yield "id3.other", binary_text(frame[4:])


def _id3v1(data: bytes) -> Iterator[Pair]:
    yield from _frames((mutagen.id3.ParseID3v1(data) or {}).values())


def _frames(frames: Iterable[Any]) -> Iterator[Pair]:
    for frame in frames:
        name = f"id3.{frame.FrameID}" if frame.FrameID in mutagen.id3.Frames else "id3.other"
        key = _KEYS.get(_squashed(getattr(frame, "desc", ""))) if frame.FrameID in ("TXXX", "COMM", "WXXX") else None
        for spec in (*frame._framespec, *frame._optionalspec):
            if spec.name in ("encoding", "lang", "format") or (key and spec.name == "desc"):
                continue
            value: Any = getattr(frame, spec.name, None)
            for text in [_sung(value)] if frame.FrameID == "SYLT" and spec.name == "text" else _texts(value):
                yield (f"id3.{key}" if key else name), text
        if frame.FrameID == "TCON":
            yield from ((name, genre) for genre in frame.genres)  # (17) by its name
        if sub_frames := getattr(frame, "sub_frames", None):
            yield from _frames(sub_frames.values())
        yield from (("id3." + what, text) for what, text in _cues(frame))


def _cues(frame: Any) -> Iterator[Pair]:
    """What a frame says about tempo, key and moments in numbers."""
    if frame.FrameID == "CHAP":
        yield "chapter_time", cues.seconds(frame.start_time / 1000)
    elif frame.FrameID == "GEOB":
        yield from cues.serato(frame.desc, frame.data)
    elif frame.FrameID == "PRIV" and frame.owner == "TRAKTOR4":
        yield from cues.traktor(frame.data)


def _sung(syllables: list[tuple[str, int]]) -> str:
    """Syllables with their times as one text; blanks are part of them, or else they are lines or words."""
    texts = [text for text, _ in syllables]
    return ("" if any(text[:1].isspace() or text[-1:].isspace() for text in texts) else " ").join(texts)


def _texts(value: Any) -> Iterator[str]:
    """The texts of one field of a frame; bare numbers (flags, types, times) say nothing about a recording."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield binary_text(value)
    elif isinstance(value, mutagen.id3.ID3TimeStamp):
        yield str(value)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


def _ape(data: bytes) -> Iterator[Pair]:
    for key, value in mutagen.apev2.APEv2(io.BytesIO(data)).items():
        name, *unknown = _named("ape", key)
        yield from ((name, text) for text in unknown)
        if isinstance(value, mutagen.apev2.APETextValue):
            yield from ((name, text) for text in value)
        elif isinstance(value, mutagen.apev2.APEBinaryValue):
            yield name, binary_text(bytes(value))
        else:
            yield name, str(value)


def _named(system: str, key: str) -> tuple[str, ...]:
    """The name of a key that an author was free to choose and, where it is not a standard one, the key as a value."""
    standard = _KEYS.get(_squashed(key))
    return (f"{system}.{standard}",) if standard else (f"{system}.other", key)


_CHAPTER = re.compile(r"(?i)CHAPTER\d{3}=(\d{1,3}):(\d\d):(\d\d(?:\.\d{1,9})?)")  # wiki.xiph.org/Chapter_Extension


_MASK = re.compile(r"(?i)WAVEFORMATEXTENSIBLE_CHANNEL_MASK=0x[\da-f]{1,8}")  # `flac` of more than 16 bits or 2 channels


def _vorbis(data: bytes, vendor: str = "vorbis.vendor") -> Iterator[Pair]:
    source = io.BytesIO(data)
    comment = VComment(source, framing=False)
    yield vendor, comment.vendor
    for key, value in comment:
        if _MASK.fullmatch(f"{key}={value}"):
            yield "vorbis.channel_layout", value
            continue
        name, *unknown = _named("vorbis", key)
        yield from ((name, text) for text in unknown)
        if time := _CHAPTER.fullmatch(f"{key}={value}"):
            hours, minutes, seconds = map(float, time.groups())
            yield "vorbis.chapter_time", cues.seconds(3600 * hours + 60 * minutes + seconds)
        if name in ("vorbis.metadata_block_picture", "vorbis.coverart"):
            value = _unpacked(value)
        elif key.upper().startswith("SERATO_"):
            yield from (("vorbis." + what, text) for what, text in cues.serato_field(value))
        elif key.upper() == "TRAKTOR4":
            yield from (("vorbis." + what, text) for what, text in cues.traktor(cues.unpacked(value.encode())))
        yield name, value
    if runs := text_runs(source.read()):  # after the last field, where no tag reader looks
        yield "vorbis.other", " ".join(runs)


def _unpacked(value: str) -> str:
    try:
        return binary_text(base64.b64decode(value[: LOOKED_AT // 3 * 4], validate=True))
    except (binascii.Error, ValueError):
        return value


def _flac(data: bytes) -> Iterator[Pair]:
    return _vorbis(data, "flac.vendor")


def _picture(data: bytes) -> Iterator[Pair]:
    picture = mutagen.flac.Picture(data)
    yield "flac.picture", picture.desc
    yield "flac.picture", binary_text(picture.data)


_LEAD_OUT = (170, 255)


def _cuesheet(data: bytes) -> Iterator[Pair]:
    sheet = mutagen.flac.CueSheet(data)
    for text in (sheet.media_catalog_number, *(track.isrc for track in sheet.tracks)):
        yield "flac.cuesheet", text.decode("latin-1").rstrip("\x00")
    for track in sheet.tracks:
        if track.track_number not in _LEAD_OUT and track.start_offset:
            yield "flac.cue_time", cues.samples(track.start_offset)


def _ilst(data: bytes) -> Iterator[Pair]:
    for kind, version in ((b"ilst", b""), (b"meta", b"\0\0\0\0"), (b"udta", b""), (b"moov", b"")):
        data = (len(data) + len(version) + 8).to_bytes(4, "big") + kind + version + data
    source = io.BytesIO(data)  # mutagen takes the list in the place where iTunes writes it only
    tags = mutagen.mp4.MP4Tags(Atoms(source), source)
    for key, values in (*tags.items(), *tags._failed_atoms.items()):
        name, *unknown = _mp4_names(key)
        yield from ((name, text) for text in unknown)
        for value in values if isinstance(values, list) else [values]:
            yield name, _mp4_text(value)
            if key.startswith("----:com.serato.dj:"):
                yield from (("mp4." + what, text) for what, text in cues.serato_field(_mp4_text(value)))
            elif key.endswith(":TRAKTOR4") and isinstance(value, bytes):
                yield from (("mp4." + what, text) for what, text in cues.traktor(bytes(value)))


def _mp4_names(key: str) -> tuple[str, ...]:
    if key.startswith("----:"):
        return _named("mp4", key.rpartition(":")[2])
    return (f"mp4.{key}",) if key in _MP4_KEYS else ("mp4.other", key)


def _mp4_text(value: Any) -> str:
    if isinstance(value, bytes):
        if isinstance(value, mutagen.mp4.MP4FreeForm):
            try:
                return value.decode("utf-8")
            except UnicodeDecodeError:
                pass
        return binary_text(value)
    return "/".join(str(part) for part in value) if isinstance(value, tuple) else str(value)


READERS: dict[str, Callable[[bytes], Iterator[Pair]]] = {
    "id3": _id3,
    "id3v1": _id3v1,
    "ape": _ape,
    "vorbis": _vorbis,
    "flac": _flac,
    "flac-picture": _picture,
    "flac-cuesheet": _cuesheet,
    "ilst": _ilst,
}
