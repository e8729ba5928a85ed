"""All that is wanted of a file's sound from one decode: words of Chromaprint, levels, the digest of the samples.

One process of ffmpeg resamples a file once and hands the samples to as many fingerprints as are asked for: begun parts
of a step later (phases), or declared to be of another rate (speeds).  Short files share a process: starting it costs
more than decoding them.

Chromaprint hears one channel of 16 bits.  What that may spoil is measured in a sample of the sound, and such a file is
heard once more: where its channels cancel out, the loudest alone; where it goes far over full scale, quieter.  Filters
forget what they hold when rate or channels change, so such a file is first decoded as a whole.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leakscan import libchromaprint, media, transcripts
from leakscan.media import PHASES, RATE
from leakscan.model import Interrupted, Unreadable
from leakscan.transcripts import Transcript

# Eight taps instead of 32: 2 of 10,000 bits of the words differ from ffmpeg's own choice, and a tenth is saved.
_RESAMPLE = {"filter_size": 8, "phase_shift": 6}
_FRAME = 8192  # samples; what a codec hands out one by one is cheaper to filter together

_CANCELLED_DB = 20.0  # how far the mix may be below the loudest channel
_OVER_DB = 3.0  # how far above full scale 16 bits may clip: fewer than 1 of 100 bits of the words change
_BROKEN_DB = 60.0  # over full scale: such samples are no sound, and are cut off
# Frames that are measured when nobody asks: one in 8 for 12 s, then one in 64 (each 0.2 s long)
_SAMPLE = "not(mod(n,if(lt(n,64),8,64)))"
_LATE_S = 0.1  # more than an encoder's delay
_SILENCE = {"noise": 1.5 / 32768, "duration": 0.1}  # of 16 bits, nothing but zeros


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted: words in 1 or 4 phases, words at speeds (1.03: 3 % faster), levels, a digest.

    `digest` names an algorithm of ffmpeg's hash muxer, "" for none; see `media.pcm_digest`.
    """

    phases: int = 1
    speeds: tuple[float, ...] = ()
    levels: bool = False
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Levels:
    """Of the loudest channel, in dB of full scale: the highest peak and the root mean square; seconds of silence.

    Silence is where all channels, in 16 bits, are zero for 0.1 s and more.  Both levels are minus infinity if all is.
    """

    peak_db: float
    rms_db: float
    silence_s: float


@dataclass(frozen=True, slots=True)
class Heard:
    """What was heard of a file: words as little-endian uint32, one for each phase and one for each speed.

    `duration` are the seconds that were decoded; `notes` what a reader should know of how it was heard.
    """

    phases: tuple[bytes, ...]
    duration: float
    speeds: tuple[bytes, ...] = ()
    notes: tuple[str, ...] = ()
    levels: Levels | None = None
    digest: str = ""


@dataclass(frozen=True, slots=True)
class _Ear:
    """How a file is listened to: one channel alone, counted from 0, or all mixed; made quieter by so many dB."""

    channel: int | None = None
    quieter_db: int = 0

    @property
    def notes(self) -> Iterator[str]:
        if self.channel is not None:
            yield f"its channels cancel out when they are mixed; only channel {self.channel + 1} was heard"
        if self.quieter_db:
            yield f"it goes far over full scale; it was heard {self.quieter_db} dB quieter"


_MIX = _Ear()


def extract(files: Sequence[tuple[Path, str]], wish: Wish = Wish()) -> list[Heard | Unreadable]:
    """What is heard of every file, or why nothing is: (path, what messages call it) in order, all in one process.

    Nothing in one file changes what is said of another: a file that is not beyond doubt is heard again by itself.
    Raises `LeakscanError` when there is no ffmpeg.
    """
    found: dict[int, Heard | Unreadable] = {}
    for number, (path, name) in enumerate(files):
        try:
            media.check_regular(path, name)
        except Unreadable as error:
            found[number] = error
    waiting = [number for number in range(len(files)) if number not in found]
    if len(waiting) > 1 and media.find_ffmpeg().muxer and not wish.levels:  # whose silence it is would not be known
        together = _together([files[number][0] for number in waiting], wish)
        found |= {number: heard for number, heard in zip(waiting, together, strict=True) if heard is not None}
    for number in waiting:
        if number not in found:
            try:
                found[number] = _alone(*files[number], wish)
            except Unreadable as error:
                found[number] = error
    return [found[number] for number in range(len(files))]


def _together(paths: Sequence[Path], wish: Wish) -> list[Heard | None]:
    """What one process makes of several files; None for those of which it is not beyond doubt.

    Nobody knows whose the errors are that ffmpeg speaks of: each file has to stand up to all of them.
    """
    with media.workplace(paths) as (folder, links):
        run = _Run(_Plan(len(paths), wish), folder, links)
        if run.status != 0 or run.said.changed:
            return [None] * len(paths)
        return [run.heard(number) if run.is_beyond_doubt(number, path) else None for number, path in enumerate(paths)]


def _alone(path: Path, name: str, wish: Wish, ear: _Ear = _MIX) -> Heard:
    """What is heard of one file.  Raises `Unreadable`, `LeakscanError`."""
    with media.workplace((path,)) as (folder, links):
        run = _Run(_Plan(1, wish, ear, words=media.find_ffmpeg().muxer), folder, links)
        if run.said.changed:
            return _whole(path, name, wish)
        run.check(path, name)
        better = run.better_ear(0)
        if better == ear:
            return run.heard(0)
    return _alone(path, name, wish, better)


def _whole(path: Path, name: str, wish: Wish) -> Heard:
    """What is heard of a file whose rate or channels change: of its samples, which are decoded beforehand."""
    with media.workplace((path,)) as (folder, links):
        first = _Run(_Plan(1, Wish(digest=wish.digest), words=False, steady=False), folder, links)
        first.check(path, name)
        samples = (folder / _name(0, "samples")).rename(folder / "all.wav")
        plan = _Plan(1, replace(wish, digest=""), words=media.find_ffmpeg().muxer, raw=True)
        second = _Run(plan, folder, [f"file:{samples.name}"])
        second.check(samples, name)
        heard = second.heard(0)
        notes = ("its sample rate or its channels change inside", *first.notes(0))
        return replace(heard, notes=notes, digest=first.digest(0))


# --- one run of ffmpeg -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Plan:
    """What one process does: so many files, and of each `words`, or mono samples from which the library makes words.

    `steady`: rate and channels are taken not to change.  `raw`: the files are mono samples already.
    """

    files: int
    wish: Wish
    ear: _Ear = _MIX
    words: bool = True
    steady: bool = True
    raw: bool = False

    @property
    def measures(self) -> bool:
        return self.steady and (self.wish.levels or (self.ear == _MIX and not self.raw))

    @property
    def rates(self) -> list[int]:
        """The rates that the samples are declared to have, for the speeds."""
        return [round(RATE * speed) for speed in self.wish.speeds]


def _name(number: int, what: str) -> str:
    """What the output `what` of a file is called."""
    return f"{number}.{what}"


class _Run:
    """One process of ffmpeg that has ended, and what it made in `folder`; files are counted from 0."""

    def __init__(self, plan: _Plan, folder: Path, links: Sequence[str]) -> None:
        self._plan = plan
        self._folder = folder
        self._command = _command(media.find_ffmpeg().path, media.MAX_AUDIO_S, plan)
        self.said = Transcript()
        argv = [links[self._command.sources.index(part)] if part in self._command.sources else part
                for part in self._command.argv]  # fmt: skip
        work = media.stream(argv, self.said, folder)
        while True:
            try:
                next(work)
            except StopIteration as end:
                self.status: int | None = end.value
                break

    def duration(self, number: int) -> float:
        """How many seconds were decoded."""
        return self._sink(number).duration

    def _sink(self, number: int) -> transcripts.Sink:
        first = _name(number, "phase0" if self._plan.words else "samples")
        return self.said.sinks[self._command.sinks.index(first)]

    def _source(self, number: int) -> transcripts.Source:
        return self.said.sources[self._command.sources.index(_input(number))]

    def fault(self, number: int) -> str:
        """What shows that a file was not decoded in full; empty when nothing does."""
        if self.status is None:
            return media.late()
        source = self._source(number)
        return transcripts.fault(self.status, self.said, source, self._sink(number), media.MAX_AUDIO_S)

    def check(self, path: Path, name: str) -> None:
        """Raise `Unreadable` if the only file was not decoded in full."""
        if self.status is None:
            raise Interrupted(f"{name}: {media.late()}")
        if self.status < 0:
            raise Interrupted(f"{name}: ffmpeg was stopped by signal {-self.status} before its end; try again")
        media.refuse(path, name, self.fault(0), self.duration(0))

    def is_beyond_doubt(self, number: int, path: Path) -> bool:
        """Whether there is nothing to say against what was heard of a file."""
        is_whole = not self.fault(number) and not transcripts.cut(path) and self.duration(number) <= media.MAX_AUDIO_S
        return is_whole and self.better_ear(number) == self._plan.ear

    def better_ear(self, number: int) -> _Ear:
        """How a file should be listened to, by what was measured."""
        if self._plan.ear != _MIX or not self._plan.measures:
            return self._plan.ear
        each, mix = (self.said.levels[f"{kind}{number}"] for kind in ("each", "mix"))
        channel = None
        if len(each.loudness) > 1 and mix.loudness and mix.loudness[0] < max(each.loudness) - _CANCELLED_DB:
            channel = each.loudness.index(max(each.loudness))
        over = max(each.peaks, default=-math.inf)
        return _Ear(channel, math.ceil(over) if _OVER_DB < over <= _BROKEN_DB else 0)

    def heard(self, number: int) -> Heard:
        """What was heard of a file."""
        speeds = range(len(self._plan.rates))
        return Heard(
            phases=tuple(self._words(number, f"phase{at}", RATE, PHASES[at]) for at in range(self._plan.wish.phases)),
            duration=self.duration(number),
            speeds=tuple(self._words(number, f"speed{at}", self._plan.rates[at]) for at in speeds),
            notes=tuple(self.notes(number)),
            levels=self._levels(number) if self._plan.wish.levels else None,
            digest=self.digest(number),
        )

    def notes(self, number: int) -> Iterator[str]:
        """What a reader should know of how a file was heard."""
        source = self._source(number)
        if source.audio > 1:
            yield f"it has {source.audio} audio streams; only the first was heard"
        if source.start > _LATE_S:
            yield f"its sound begins at {source.start:.2f} s of its clock; times are counted from there"
        yield from self._plan.ear.notes

    def digest(self, number: int) -> str:
        """The digest that was wished for, "" if none was."""
        return media.digest_of(self._output(number, "digest")) if self._plan.wish.digest else ""

    def _words(self, number: int, what: str, rate: int, skip: int = 0) -> bytes:
        if self._plan.words:
            return self._output(number, what)
        return libchromaprint.words(self._folder / _name(number, "samples"), rate, skip)

    def _output(self, number: int, what: str) -> bytes:
        return (self._folder / _name(number, what)).read_bytes()

    def _levels(self, number: int) -> Levels:
        each = self.said.levels[f"each{number}"]
        peak, loudness = (max(of, default=-math.inf) for of in (each.peaks, each.loudness))
        return Levels(peak, loudness, round(self.said.silence, 3))


@dataclass(frozen=True, slots=True)
class _Command:
    """A command line, its inputs as it names them and its outputs by name, both in ffmpeg's order."""

    argv: tuple[str, ...]
    sources: tuple[str, ...]
    sinks: tuple[str, ...]


def _input(number: int) -> str:
    return f"INPUT{number}"


@functools.cache
def _command(executable: str, limit: int, plan: _Plan) -> _Command:
    ffmpeg = media.ffmpeg_python()
    outputs = [
        output
        for number in range(plan.files)
        for output in _outputs(ffmpeg, ffmpeg.input(_input(number), **media.fence(limit))["a:0"], number, plan)
    ]
    argv = ffmpeg.compile(ffmpeg.merge_outputs(*outputs), cmd=[executable, *media.GLOBALS])
    sources = [after for before, after in itertools.pairwise(argv) if before == "-i"]
    sinks = [part.removeprefix("file:") for part in argv if part.startswith("file:")]
    return _Command(tuple(argv), tuple(sources), tuple(sinks))


def _outputs(ffmpeg: Any, sound: Any, number: int, plan: _Plan) -> Iterator[Any]:
    """The outputs for one file, as nodes of ffmpeg-python."""

    def output(node: Any, what: str, **options: Any) -> Any:
        return ffmpeg.output(node, f"file:{_name(number, what)}", **options)

    wish, ear = plan.wish, plan.ear
    if wish.digest:
        yield output(sound, "digest", format="hash", hash=wish.digest, **{"c:a": "pcm_s32le"})
    if plan.steady:
        sound = sound.filter("asetnsamples", n=_FRAME, p=0)
    if plan.measures:
        sound, measured = _split(sound, 2)
        yield output(_measured(measured, number, wish.levels), "levels", format="null")
    if ear.channel is not None:
        sound = sound.filter("channelmap", map=ear.channel, channel_layout="mono")
    if ear.quieter_db:
        sound = sound.filter("volume", f"-{ear.quieter_db}dB")
    sound = sound.filter("aresample", RATE, **_RESAMPLE).filter("aformat", channel_layouts="mono", sample_fmts="s16")
    if not plan.words:
        yield output(sound, "samples", format="wav")  # no raw samples: that muxer minds the jumps of time in a chain
        return
    branches = iter(_split(sound, wish.phases + len(wish.speeds)))
    for at in range(wish.phases):
        branch = next(branches)
        if at:  # newer builds of ffmpeg fail where nothing is left of a very short file
            branch = branch.filter("apad", whole_len=PHASES[at] + 1).filter("atrim", start_sample=PHASES[at])
        yield output(branch, f"phase{at}", format="chromaprint", fp_format="raw")
    for at, rate in enumerate(plan.rates):
        branch = next(branches).filter("asetrate", rate)
        yield output(branch, f"speed{at}", format="chromaprint", fp_format="raw")


def _split(sound: Any, count: int) -> list[Any]:
    if count == 1:
        return [sound]
    split = sound.filter_multi_output("asplit", count)
    return [split[at] for at in range(count)]


def _measured(sound: Any, number: int, exactly: bool) -> Any:
    """Filters that say how loud a sound is, channel by channel and mixed; named, to tell whose the levels are."""
    stats = {"measure_perchannel": "Peak_level+RMS_level", "measure_overall": "none"}
    sound = sound if exactly else sound.filter("aselect", _SAMPLE)
    sound = sound.filter(f"astats@each{number}", **stats)
    if exactly:
        sound = sound.filter("silencedetect", **_SILENCE)
    # the resampler by name: ffmpeg would else put it anywhere before, and measure the mix twice
    return sound.filter("aresample").filter("aformat", channel_layouts="mono").filter(f"astats@mix{number}", **stats)
