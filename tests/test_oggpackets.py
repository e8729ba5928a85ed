"""Packets of sound in Ogg: what no decoder reads, and how long they last."""

from __future__ import annotations

from itertools import accumulate, pairwise

import places
import pytest
from places import flac as flac_places
from places import ogg as hiding

from leakscan import oggpackets, vorbis
from leakscan.model import Unreadable

TEXT = b"quillfeather-marrow-4711"


def laid(*packets: bytes) -> tuple[bytes, list[int]]:
    return b"".join(packets), [*accumulate(map(len, packets), initial=0)]


def stream(name: str) -> hiding._Stream:
    return hiding._Stream(name, places.base(name, hiding.BASES[name]))


def sound(found: hiding._Stream) -> oggpackets.Sound:
    head, *more = found.headers
    if found.codec == "vorbis":
        return oggpackets.Vorbis(head, vorbis.setup(more[-1], head[11]))
    made = {"opus": oggpackets.Opus, "flac": lambda head: oggpackets.Flac(head[17:51]), "speex": oggpackets.Speex}
    return made[found.codec](head)


@pytest.mark.parametrize("name", hiding.BASES)
def test_packets_are_as_long_as_the_pages_say(name: str) -> None:
    found = stream(name)
    taker = sound(found)
    packets = hiding.OggPage.to_packets(found.sound)
    changes, samples = taker.take(*laid(*packets))
    assert changes == []
    last, before = found.sound[-1], found.sound[-2].position if len(found.sound) > 1 else 0
    assert before < last.position <= sum(samples)


def test_vorbis_packets_that_are_no_sound() -> None:
    taker = sound(stream("vorbis.ogg"))
    first = bytes(9)
    block, edges = laid(first, b"", b"\7" + TEXT, first)
    changes, samples = taker.take(block, edges)
    assert changes == [(9, 34, b"\7" + bytes(24))]
    again = block[:9] + changes[0].clean + block[34:]
    changes, same = sound(stream("vorbis.ogg")).take(again, edges)
    assert (changes, same.tolist()) == ([], samples.tolist())


def test_opus_packets_of_several_streams() -> None:
    head = b"OpusHead\1\3" + bytes(8) + b"\1\2\1" + b"\0\1\2"
    padded = bytes([0xFB, 0x41, 3, 4]) + b"abcd" + b"QRS" + bytes([0xF8]) + b"efgh"
    changes, samples = oggpackets.Opus(head).take(*laid(padded))
    assert changes == [(0, len(padded), padded.replace(b"QRS", bytes(3)))]
    assert samples.tolist() == [960]


def flac_file() -> tuple[bytes, bytes, bytes]:
    """A FLAC file, and its first two frames."""
    name = "mono.flac"
    data = places.base(name, flac_places.BASES[name])
    frames = flac_places._frames(data)
    starts = flac_places._starts(frames)
    one, two = (frames[start:end] for start, end in pairwise(starts[:3]))
    return data, one, two


def test_flac_frames_with_text_behind_them() -> None:
    data, one, two = flac_file()
    taker = oggpackets.Flac(data[8:42])
    changes, samples = taker.take(*laid(one, two + TEXT, one))
    assert changes == [(len(one), len(one + two + TEXT), two + bytes(len(TEXT)))]
    assert samples.tolist() == 3 * [int.from_bytes(data[8:10], "big")]
    changes, same = taker.take(*laid(one, changes[0].clean, one))
    assert (changes, same.tolist()) == ([], samples.tolist())


def test_what_is_behind_a_flac_frame_is_found_by_its_checksum() -> None:
    data, one, two = flac_file()
    taker = oggpackets.Flac(data[8:42])
    assert taker.take(*laid(one, two))[0] == []
    assert taker.take(*laid(one, two + b"\1\2\3"))[0] == [(len(one), len(one + two) + 3, two + bytes(3))]
    with pytest.raises(Unreadable, match="a FLAC frame in it has a wrong checksum"):
        taker.take(*laid(one, two[:-1] + bytes([two[-1] ^ 1])))


@pytest.mark.parametrize("name", ["vorbis.ogg", "opus.opus", "speex.spx"])
def test_text_at_the_end_of_a_packet_is_refused(name: str) -> None:
    found = stream(name)
    packets = hiding.OggPage.to_packets(found.sound)
    with pytest.raises(Unreadable, match="text behind the sound of a frame"):
        sound(found).take(*laid(*packets[:3], packets[3] + TEXT + b"\xff", *packets[4:]))
