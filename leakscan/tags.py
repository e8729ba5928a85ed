"""Tags as mutagen reads them, with names that are safe to print.  The only place that imports mutagen.

The formats find where a tag lies and hand its bytes over with what it is; mutagen never guesses by name or content.
A name is `<system>.<key>`: `id3.TIT2`, `vorbis.title`, `mp4.©nam`, `ape.title`.  Keys that a release author chose
could themselves be a secret: only keys of KEYS are printed as names, any other becomes `vorbis.other`, and the key's
text is then a value as well.
"""

# mypy: allow-untyped-calls
# mutagen annotates only part of its functions.

from __future__ import annotations

import base64
import binascii
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import mutagen.aiff
import mutagen.apev2
import mutagen.flac
import mutagen.id3
import mutagen.id3._frames
import mutagen.mp4
import mutagen.oggflac
import mutagen.oggopus
import mutagen.oggspeex
import mutagen.oggvorbis
import mutagen.wave
from mutagen._vorbis import VComment
from mutagen.mp4._atom import Atoms

from leakscan.model import Unreadable

TAG_LIMIT = 64 << 20
"""The largest single tag that is read, in bytes."""

LOOKED_AT = 64 << 10
"""How many bytes of a binary value are searched for text."""

Pair = tuple[str, str]

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


def read_tags(stream: BinaryIO, container: str, start: int = 0, end: int | None = None) -> tuple[Pair, ...]:
    """The tags in bytes `start` to `end` of `stream`, as (name, value), in the order of the file, none twice.

    `container` says what these bytes are: `id3` (a whole ID3v2 tag), `id3v1`, `ape` (a whole APE tag), `lyrics3`,
    `tag+`, `junk` (any bytes, searched for text), `vorbis` or `flac` (a comment block without magic; the two differ in
    the name of the vendor), `flac-picture`, `flac-cuesheet` (block bodies), `ilst` (the body of that MP4 box).

    Raises Unreadable, without a path, whatever mutagen raises.
    """
    reader = _READERS[container]
    try:
        stream.seek(start)
        data = stream.read(TAG_LIMIT + 1 if end is None else min(end - start, TAG_LIMIT + 1))
        if len(data) > TAG_LIMIT:
            raise Unreadable(f"its {container} tag is larger than {TAG_LIMIT:,} bytes; remove the tag")
        return tuple(dict.fromkeys((name, value) for name, value in reader(data) if value))
    except Unreadable:
        raise
    except Exception as error:  # mutagen lets RecursionError, ValueError, IndexError, ... out of hostile files
        raise Unreadable(f"its {container} tag cannot be parsed ({type(error).__name__}); remove the tag") from error


def binary_text(data: bytes) -> str:
    """`<binary>` and the runs of at least six ASCII or UTF-16 letters found in the first LOOKED_AT bytes."""
    return " ".join(("<binary>", *text_runs(data)))


def text_runs(data: bytes) -> list[str]:
    """The runs of at least six printable ASCII characters, also as UTF-16, in the first LOOKED_AT bytes."""
    data = data[:LOOKED_AT]
    wide = re.findall(rb"(?:[\x20-\x7e]\x00){6,}|(?:\x00[\x20-\x7e]){6,}", data)
    runs = re.findall(rb"[\x20-\x7e]{6,}", data)
    return [run.replace(b"\x00", b"").decode("ascii") for run in (*runs, *wide)]


class _BoundedZlib:
    """What mutagen uses of zlib, with a bound: a frame of 1 MB can be made to unpack to 1 GB."""

    error = zlib.error

    @staticmethod
    def decompress(data: bytes) -> bytes:
        unpacker = zlib.decompressobj()
        unpacked = unpacker.decompress(data, 32 * len(data) + 1024)  # text and pictures pack to a tenth at the most
        if unpacker.unconsumed_tail:
            raise Unreadable("its id3 tag unpacks to far more than it is; remove the tag")
        if not unpacker.eof:
            raise zlib.error("incomplete")
        return unpacked


vars(mutagen.id3._frames)["zlib"] = _BoundedZlib  # once, on import, and for good


# --- one reader for each kind of tag ---------------------------------------------------------------------------------


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
            for text in _texts(getattr(frame, spec.name, None)):
                yield (f"id3.{key}" if key else name), text
        if sub_frames := getattr(frame, "sub_frames", None):
            yield from _frames(sub_frames.values())


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


def _vorbis(data: bytes, vendor: str = "vorbis.vendor") -> Iterator[Pair]:
    source = io.BytesIO(data)
    comment = VComment(source, framing=False)
    yield vendor, comment.vendor
    for key, value in comment:
        name, *unknown = _named("vorbis", key)
        yield from ((name, text) for text in unknown)
        if name in ("vorbis.metadata_block_picture", "vorbis.coverart"):
            value = _unpacked(value)
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


def _cuesheet(data: bytes) -> Iterator[Pair]:
    sheet = mutagen.flac.CueSheet(data)
    for text in (sheet.media_catalog_number, *(track.isrc for track in sheet.tracks)):
        yield "flac.cuesheet", text.decode("latin-1").rstrip("\x00")


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


def _text(name: str) -> Callable[[bytes], Iterator[Pair]]:
    def read(data: bytes) -> Iterator[Pair]:
        if runs := text_runs(data):
            yield name, " ".join(("<binary>", *runs))

    return read


_READERS: dict[str, Callable[[bytes], Iterator[Pair]]] = {
    "id3": _id3,
    "id3v1": _id3v1,
    "ape": _ape,
    "lyrics3": _text("lyrics3.text"),
    "tag+": _text("id3.other"),
    "junk": _text("file.other"),
    "vorbis": _vorbis,
    "flac": _flac,
    "flac-picture": _picture,
    "flac-cuesheet": _cuesheet,
    "ilst": _ilst,
}


# --- deleting --------------------------------------------------------------------------------------------------------

_GLUED = 8  # how many tags glued to one end are taken off; one call of mutagen takes one


def delete_tags(path: Path, container: str) -> None:
    """Delete all tags that mutagen can from the file at `path`, which must be a copy: it is changed in place.

    `container` is that of `Tags`.  Much stays behind (RIFF LIST INFO, the vendor string, everything but tags): the
    result has to be read again.  Raises Unreadable.
    """
    try:
        if container == "flac":
            _delete_flac(path)
        elif container in _CLASSES:
            _CLASSES[container](path).delete()
        elif container not in ("mp3", "aac"):
            raise Unreadable(f"{path}: tags cannot be deleted from {container}; convert it first")
        if container != "mp4":
            for _ in range(_GLUED):
                mutagen.apev2.delete(path)
                if container in ("mp3", "aac", "flac"):
                    mutagen.id3.delete(path)
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable(f"{path}: its tags cannot be deleted ({type(error).__name__}); encode it again") from error


_CLASSES: dict[str, Callable[[Path], Any]] = {
    "ogg-vorbis": mutagen.oggvorbis.OggVorbis,
    "ogg-opus": mutagen.oggopus.OggOpus,
    "ogg-speex": mutagen.oggspeex.OggSpeex,
    "ogg-flac": mutagen.oggflac.OggFLAC,
    "mp4": mutagen.mp4.MP4,
    "wav": mutagen.wave.WAVE,
    "aiff": mutagen.aiff.AIFF,
}


def _delete_flac(path: Path) -> None:
    file: Any = mutagen.flac.FLAC(path)
    file.clear_pictures()
    kept = (mutagen.flac.StreamInfo.code, mutagen.flac.SeekTable.code)
    file.metadata_blocks = [block for block in file.metadata_blocks if block.code in kept]
    file.tags = file.cuesheet = None  # save() would write them again
    file.save(deleteid3=True, padding=lambda info: 0)
