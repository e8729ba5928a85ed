"""The command line: parse, call, render, exit status."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import click

import leakscan
from leakscan import outputs
from leakscan.discover import members, names
from leakscan.model import LEVELS, LeakscanError, Report, Unexamined, Unreadable
from leakscan.text import counted, printable

if TYPE_CHECKING:
    from leakscan import cleaning
    from leakscan.config import Config
    from leakscan.exhibits import Wanted
    from leakscan.hearing import Tell
    from leakscan.sealing import Key
    from leakscan.store import Store

_PATH = click.Path(path_type=Path)
_Targets = tuple[tuple[str, Path], ...]
_INTERNAL_ERROR = 4
_MAX_TOLD = 20  # lines of a kind on standard error, as in the report as text


class _ScanByDefault(click.Group):
    """A first argument that names no command is a path to scan."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        if args and args[0] not in self.commands and args[0] not in own:
            args = ["scan", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_ScanByDefault, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(leakscan.__version__, prog_name="leakscan")
def cli() -> None:
    """Find what gives a benchmark's recordings or answers away, prove it, take it out, match copies by sound.

    `leakscan PATH...` is short for `leakscan scan PATH...`.

    Exit status: 0 clean, 1 findings, 2 wrong usage or configuration, 3 no verdict since something could not be read
    (or nothing was examined), 4 internal error.
    """


_Command = Callable[..., Any]


def _with(command: _Command, *options: Callable[[_Command], _Command]) -> _Command:
    for option in reversed(options):
        command = option(command)
    return command


def _reporting(command: Callable[..., Report | None]) -> _Command:
    """A command that ends in a report, which it returns (or None, if it came to none)."""

    @functools.wraps(command)
    def reporting(formats: str, reports: _Targets, fail_on: Any, **given: Any) -> None:
        report = command(**given)
        if report is not None:
            _finish(replace(report, fail_on=fail_on), formats, reports)

    return _with(reporting, *_report_options())


def _report_options() -> list[Callable[[_Command], _Command]]:
    return [
        click.option("--format", "formats", type=click.Choice(names("reports")), default="text", show_default=True,
                     help="How the report is printed to standard output."),
        click.option("-o", "reports", multiple=True, metavar="[FORMAT:]FILE",
                     callback=lambda context, option, given: _targets(given),  # before the work, not after it
                     help="Also write the report to FILE, its format by its suffix; may be repeated."),
        click.option("--fail-on", type=click.Choice([*LEVELS, "never"]), default="error", show_default=True,
                     help="The level from which findings make the exit status 1."),
    ]  # fmt: skip


class _Ear(NamedTuple):
    """The cache, what an HTML report needs besides rows, and whom to tell of progress."""

    memory: Store
    wanted: Wanted | None
    tell: Tell | None


def _listening(command: Callable[..., Report]) -> _Command:
    """A command that listens to audio, with an `_Ear`, and returns a report that can be looked at and listened to."""

    @functools.wraps(command)
    def listening(
        cache: str | None,
        retry: bool,
        exhibits: int,
        embed_audio: bool,
        formats: str,
        reports: _Targets,
        fail_on: Any,
        **given: Any,
    ) -> None:
        wanted = _wanted(exhibits, embed_audio, formats, reports)
        with _memory(cache, retry) as memory, _counted() as tell:
            report = command(ear=_Ear(memory, wanted, tell), **given)
        _finish(replace(report, fail_on=fail_on), formats, reports)

    return _with(
        _cached(listening),
        click.option("--exhibits", type=click.IntRange(min=0), default=200, show_default=True, metavar="N",
                     help="How many pairs an HTML report draws: those that leave most to judge."),
        click.option("--embed-audio", is_flag=True,
                     help="Put short clips of these into the HTML report, and no links to files."),
        *_report_options(),
    )  # fmt: skip


def _wanted(count: int, embed: bool, formats: str, reports: _Targets) -> Wanted | None:
    """What an HTML report needs besides the rows; None when there will be none."""
    from leakscan.exhibits import Wanted

    paths = [path for name, path in reports if name == "html"]
    if not paths and formats != "html":
        return None
    members("reports")["html"].ready()  # before the work, not after it
    return Wanted(count, embed, paths[0].parent if paths else Path())


def _finish(report: Report, formats: str, reports: _Targets) -> None:
    """Print the report, write the files, exit with its status."""
    renderers = members("reports")
    for name, path in reports:
        text = io.StringIO()
        renderers[name].render(report, text)
        try:
            path.write_text(text.getvalue(), encoding="utf-8", newline="")
        except OSError as error:
            raise LeakscanError(f"{path}: cannot be written ({error.strerror})") from error
    renderers[formats].render(report, _standard_output())
    if formats == "csv":  # a table has no place for them
        _say([_unread(entry) for entry in report.unexamined])
        _say([f"note: {note}" for note in report.notes])
    raise click.exceptions.Exit(report.status)


def _say(lines: list[str]) -> None:
    for line in lines[:_MAX_TOLD]:
        click.echo(printable(line), err=True)
    if len(lines) > _MAX_TOLD:
        click.echo(f"and {len(lines) - _MAX_TOLD} more; --format json lists all", err=True)


def _targets(reports: tuple[str, ...]) -> _Targets:
    """The format and file of each `-o`.  Raises `UsageError` where something else than a report would be lost."""
    modules = members("reports")
    suffixes = {name: module.SUFFIX for name, module in modules.items()}
    targets = tuple(_target(report, suffixes) for report in reports)
    for name, path in targets:
        outputs.check(path, f"{name} report", getattr(modules[name], "OWN", None))
        if sum(path == other and not path.is_char_device() for _, other in targets) > 1:
            raise click.UsageError(f"-o {path}: two reports would be written to it; name another file for one")
    return targets


def _target(output: str, suffixes: dict[str, str]) -> tuple[str, Path]:
    name, colon, path = output.partition(":")
    if colon and name in suffixes:
        return name, Path(path)
    for name in sorted(suffixes, key=lambda name: -len(suffixes[name])):  # `.codequality.json` is no `.json`
        if output.endswith(suffixes[name]):
            return name, Path(output)
    raise click.UsageError(f"-o {output}: the suffix names no format; write FORMAT:FILE with {', '.join(suffixes)}")


def _standard_output() -> TextIO:
    stream = sys.stdout
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace", newline="")  # a terminal that is not UTF-8 must not end the run
    return stream


_CONFIG = click.option("--config", type=_PATH, help="The leakscan.toml to use, not the release root's.")
_EVALUATOR = click.option(
    "--evaluator", type=_PATH, envvar="LEAKSCAN_EVALUATOR", help="The file that names the private side."
)


@cli.command()
@click.argument("paths", nargs=-1, type=_PATH, required=True)
@_CONFIG
@_EVALUATOR
@click.option("--rules", multiple=True, type=_PATH, help="A folder of further rules (TOML); may be repeated.")
@click.option("--max-places", type=click.IntRange(min=1), default=100, show_default=True, help="Listed per finding.")
@click.option("--reveal", is_flag=True, help="Show the values found. Never use it where others can read the output.")
@click.option(
    "--as-sent",
    multiple=True,
    type=_PATH,
    metavar="FILE",
    help="Judge captured model requests against the records of PATHS instead; may be repeated.",
)
@click.option("--baseline", type=_PATH, metavar="FILE", help="Accept the findings that FILE lists.")
@click.option("--write-baseline", is_flag=True, help="Make the --baseline FILE anew from what is found now.")
@click.option("--no-suppress", is_flag=True, help="Show what waivers and the baseline accept, too.")
@click.option("--show-config", is_flag=True, help="Print the configuration in use, its profile merged in, and stop.")
@_reporting
def scan(
    paths: tuple[Path, ...],
    config: Path | None,
    evaluator: Path | None,
    rules: tuple[Path, ...],
    max_places: int,
    reveal: bool,
    as_sent: tuple[Path, ...],
    baseline: Path | None,
    write_baseline: bool,
    no_suppress: bool,
    show_config: bool,
) -> Report | None:
    """The gate: judge the records, audio files and names of a release; or, with --as-sent, what was sent of it."""
    from leakscan import scanning

    if write_baseline and (baseline is None or no_suppress):
        raise click.UsageError("--write-baseline needs --baseline FILE, and no --no-suppress")
    setup = scanning.prepare(paths, config, evaluator, rules)
    if show_config:
        _show(setup.config, str(setup.file or "no leakscan.toml"))
        return None
    reports = tuple(path for _, path in click.get_current_context().params["reports"])
    options = scanning.Options(
        max_places=max_places, reveal=reveal, suppress=not no_suppress, baseline=baseline,
        write_baseline=write_baseline, reports=reports,
    )  # fmt: skip
    if as_sent:
        from leakscan import sent

        return sent.scan(setup, paths, as_sent, options)
    return scanning.examine(setup, paths, options)


def _show(config: Config, source: str) -> None:
    from leakscan.config import dump

    profile = f", profile {config.profile}" if config.profile else ""
    click.echo(f"# {printable(source)}{profile}\n{dump(config)}", nl=False)


@cli.command()
@click.argument("path", type=_PATH)
@_EVALUATOR
@click.option("-o", "out", type=_PATH, metavar="FILE", help="Write the draft to FILE, which must not exist yet.")
def init(path: Path, evaluator: Path | None, out: Path | None) -> None:
    """Draft a leakscan.toml for the release at PATH from the records in it.

    What looks suspicious is commented out, with the reason; nothing is allowed by itself.  Read it before you use it.
    """
    from leakscan import drafting

    text = drafting.draft(path, evaluator)
    if out is None:
        click.echo(text, nl=False)
        return
    try:
        with out.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError as error:
        raise click.UsageError(f"{out}: exists already; name a new file, or remove it first") from error
    except OSError as error:
        raise LeakscanError(f"{out}: cannot be written ({error.strerror})") from error
    click.echo(f"{printable(str(out))}: a draft; read it before you use it", err=True)


@cli.command()
@click.argument("source", type=_PATH)
@click.argument("out", type=_PATH)
@_CONFIG
@_EVALUATOR
@click.option("--mapping", type=_PATH, help="Where old and new names go: a private file outside SOURCE and OUT.")
@click.option("--check-pcm", is_flag=True, help="Have ffmpeg decode every audio file and its copy, and compare.")
@click.option("--transcode", is_flag=True, help="Make FLAC of lossless files that cannot be cleaned as they are.")
@_reporting
def clean(
    source: Path,
    out: Path,
    config: Path | None,
    evaluator: Path | None,
    mapping: Path | None,
    check_pcm: bool,
    transcode: bool,
) -> Report:
    """Write a releasable copy of SOURCE to the new folder OUT; SOURCE is never changed.

    OUT appears whole or not at all.  Run it again after an interruption: finished files are not done again.
    """
    from leakscan import cleaning

    options = cleaning.Options(check_pcm, transcode)
    with _progress() as tell:
        return cleaning.clean(source, out, config, private=evaluator, mapping_file=mapping, options=options, tell=tell)


_RULES = click.option("--rules", multiple=True, type=_PATH, help="A folder of further rules (TOML); may be repeated.")


@cli.command()
@click.argument("release", type=_PATH)
@click.option("-o", "out", type=_PATH, required=True, metavar="FILE", help="The certificate to write, elsewhere.")
@click.option("--sign", "key", type=_PATH, metavar="KEY", help="The Ed25519 private key to sign with (PEM or OpenSSH).")
@click.option("--mapping", type=_PATH, metavar="FILE", help="What `clean` wrote about this release: before and after.")
@_CONFIG
@_EVALUATOR
@_RULES
@click.option("--format", "formats", type=click.Choice(names("reports")), default="text", show_default=True,
              help="How the report is printed to standard output.")  # fmt: skip
def certify(
    release: Path,
    out: Path,
    key: Path | None,
    mapping: Path | None,
    config: Path | None,
    evaluator: Path | None,
    rules: tuple[Path, ...],
    formats: str,
) -> None:
    """State that RELEASE is clean, file by file; a release with errors or unread files gets no certificate."""
    from leakscan import certificates

    certificates.check_place(out, release, signed=key is not None)
    try:
        certificate = certificates.certify(
            release, config, private=evaluator, rules=rules, mapping_file=mapping, key=key
        )
    except certificates.NotCertified as refusal:
        click.echo("leakscan: no certificate was written", err=True)
        _finish(refusal.report, formats, ())
    else:
        certificates.write(certificate, out, release)
        _finish(certificate.report, formats, ())


@cli.command()
@click.argument("certificate", type=_PATH, metavar="FILE")
@click.argument("release", type=_PATH)
@click.option(
    "--trust", type=_PATH, metavar="PUB", multiple=True,
    help="A file of the issuer's public key, or of several (PEM or OpenSSH); may be repeated.",
)  # fmt: skip
@_CONFIG
@_EVALUATOR
@_RULES
@_reporting
def verify(
    certificate: Path,
    release: Path,
    trust: tuple[Path, ...],
    config: Path | None,
    evaluator: Path | None,
    rules: tuple[Path, ...],
) -> Report:
    """Check that RELEASE is what the certificate FILE is about: exactly these files, and still clean.

    Exit status: 0 as certified by a signer you trust, 1 not as certified, 3 no verdict, for one since nobody you trust
    has signed.
    """
    from leakscan import verification

    if click.get_current_context().params["fail_on"] == "never":
        raise click.UsageError("--fail-on never would accept any release; leave it out")
    return verification.verify(certificate, release, trust=trust, config=config, private=evaluator, rules=rules)


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[cleaning.Done], None]]:
    """A bar with files, bytes and the time left on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return

    def shown(done: cleaning.Done | None) -> str:
        return f"{done.files}/{done.of_files} files, {done.bytes >> 20}/{done.of_bytes >> 20} MB" if done else ""

    with click.progressbar(length=1, file=sys.stderr, item_show_func=shown) as bar:

        def tell(done: cleaning.Done) -> None:
            bar.length = max(done.of_bytes, 1)
            bar.update(done.bytes - bar.pos, done)

        yield tell


@contextlib.contextmanager
def _counted() -> Iterator[Tell | None]:
    """A bar with files and the time left on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=1, file=sys.stderr, show_pos=True) as bar:

        def tell(done: int, of: int) -> None:
            bar.length = of
            bar.update(done - bar.pos)

        yield tell


_AUDIO = click.argument("audio", nargs=-1, type=_PATH, required=True)
_PASSPHRASE = click.option(
    "--passphrase", is_flag=True, help="A passphrase: LEAKSCAN_PASSPHRASE, else asked for on the terminal."
)


def _opening(command: _Command) -> _Command:
    """A command with the `key` that opens what is sealed."""

    @functools.wraps(command)
    def opening(identities: tuple[Path, ...], passphrase: bool, **given: Any) -> Any:
        from leakscan import sealing

        key = sealing.Key(sealing.identities(identities), _passphrase(confirm=False) if passphrase else None)
        return command(key=key, **given)

    identity = click.option("--identity", "identities", multiple=True, type=_PATH, metavar="FILE",
                            help="A file of age identities that opens what is sealed; may be repeated.")  # fmt: skip
    return _with(opening, identity, _PASSPHRASE)


def _cached(command: _Command) -> _Command:
    return _with(
        command,
        click.option("--cache", metavar="DIR|none",
                     help="Where fingerprints are kept between runs. [default: LEAKSCAN_CACHE, else the user's "
                          "cache folder]"),
        click.option("--retry", is_flag=True, help="Try again what could not be read in an earlier run."),
    )  # fmt: skip


@contextlib.contextmanager
def _memory(cache: str | None, retry: bool) -> Iterator[Store]:
    """The open cache; leave it before `_finish`, whose exit would pass for an interrupted run."""
    from leakscan import store

    with store.opened(cache, retry=retry) as memory:
        try:
            yield memory
        finally:
            for note in memory.notes:
                click.echo(f"leakscan: {printable(note)}", err=True)


def _passphrase(confirm: bool) -> str:
    known = os.environ.get("LEAKSCAN_PASSPHRASE")
    return known or str(click.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True))


def _not_read(unexamined: Iterable[Unexamined]) -> None:
    for entry in unexamined:
        click.echo(printable(_unread(entry)), err=True)


def _unread(entry: Unexamined) -> str:
    return f"not read: {entry.path}: {entry.reason}"


@cli.command()
@_AUDIO
@click.option("-o", "out", type=_PATH, required=True, metavar="FILE", help="The reference index to write.")
@click.option("--recipient", "recipients", multiple=True, metavar="age1...", help="Who may open it; may be repeated.")
@_PASSPHRASE
@click.option("--each", is_flag=True, help="-o names a folder: write a copy for each recipient.")
@click.option(
    "--plain-private", is_flag=True, help="Write an unsealed index: keep it private, it names the recordings."
)
@_cached
def fingerprint(
    audio: tuple[Path, ...],
    out: Path,
    recipients: tuple[str, ...],
    passphrase: bool,
    each: bool,
    plain_private: bool,
    cache: str | None,
    retry: bool,
) -> None:
    """Write a reference index of AUDIO, sealed to those who may match against it.

    The ID of a recording is its file's name without suffix.  `leakscan index new-identity` makes a key pair.
    """
    from leakscan import matching
    from leakscan.sealing import Lock

    if bool(recipients) + passphrase + plain_private != 1:
        raise click.UsageError("say who may open the index: --recipient age1..., --passphrase, or --plain-private")
    if each and not recipients:
        raise click.UsageError("--each needs --recipient")
    lock = None if plain_private else Lock(recipients, _passphrase(confirm=True) if passphrase else None)
    with _memory(cache, retry) as memory:
        written, unexamined = matching.write_index(list(audio), out, lock, each=each, memory=memory)
    click.echo(f"{printable(str(out))}: {counted(written, 'fingerprint')}", err=True)
    if plain_private:
        click.echo("the index is plain: public look-up services can name the recordings from it; keep it private; "
                   "`leakscan index audit` says more", err=True)  # fmt: skip
    _not_read(unexamined)
    raise click.exceptions.Exit(3 if unexamined or not written else 0)


@cli.command()
@_AUDIO
@click.option("--against", type=_PATH, required=True, metavar="INDEX", help="The reference index.")
@click.option("--speed", is_flag=True, help="Also try what is left at speeds up to 6 % slower and faster.")
@click.option("--sensitive", is_flag=True, help="Also look closer at what is left: filters, echo, one channel.")
@click.option("--pitch", is_flag=True, help="Also try what is left up to 6 semitones lower and higher, for review.")
@click.option(
    "--write-mapping",
    "mapping",
    type=_PATH,
    metavar="FILE",
    help="Write which file is which ID, as .csv or .json: private.",
)
@click.option(
    "--link",
    "folder",
    type=_PATH,
    metavar="DIR",
    help="Make a folder of links to the matched files, named by ID, with the suffixes of the files.",
)
@click.option("--copy", "copies", is_flag=True, help="With --link: copies, not links.")
@click.option("--allow-other-timeline", "other_timeline", is_flag=True,
              help="With --link: also files on which answers about moments and spans may be wrong.")  # fmt: skip
@_opening
@_listening
def match(
    audio: tuple[Path, ...],
    against: Path,
    speed: bool,
    sensitive: bool,
    pitch: bool,
    mapping: Path | None,
    folder: Path | None,
    copies: bool,
    other_timeline: bool,
    key: Key,
    ear: _Ear,
) -> Report:
    """Match my files to a benchmark's recordings by sound."""
    from leakscan import matching
    from leakscan.linking import Orders

    if folder is None and (copies or other_timeline):
        raise click.UsageError("--copy and --allow-other-timeline need --link DIR")
    effort = matching.Effort(speed, sensitive, pitch)
    orders = Orders(mapping, folder, copies, other_timeline)
    return matching.match_paths(list(audio), against, key, *ear, effort=effort, orders=orders)


_REVIEWED = click.option("--reviewed", type=_PATH, metavar="FILE",
                         help="Pairs that people judged: the different join nothing, the same join.")  # fmt: skip


@cli.command()
@_AUDIO
@_EVALUATOR
@_REVIEWED
@click.option("--speed", is_flag=True, help="Also find copies up to 6 % slower and faster (slow).")
@click.option("--write-drop", "drop", type=_PATH, metavar="FILE", help="Write the paths that can go without a loss.")
@_listening
def duplicates(
    audio: tuple[Path, ...],
    evaluator: Path | None,
    reviewed: Path | None,
    speed: bool,
    drop: Path | None,
    ear: _Ear,
) -> Report:
    """Find repeated audio, whatever the names, tags and encodings say.

    With --evaluator, copies whose gold differs are findings, too.  Nothing is ever deleted.
    `-o report.html` is for looking at the pairs and listening to them; it plays the files from where they lie.
    """
    from leakscan import evaluator as private_side
    from leakscan import repeats, reviewing
    from leakscan.model import Private

    private = private_side.load(evaluator) if evaluator is not None else Private()
    reviews = reviewing.read(reviewed) if reviewed is not None else reviewing.Reviews()
    return repeats.duplicate_paths(
        list(audio), ear.memory, ear.wanted, private=private, reviews=reviews, speed=speed, drop=drop, tell=ear.tell
    )


@cli.command()
@click.argument("sets", nargs=-1, required=True, metavar="NAME=PATH...")
@click.option("--group-by", "group_by", multiple=True, metavar="FIELD",
              help="A field whose values sets must not share, such as artist; may be repeated.")  # fmt: skip
@click.option("--repair", type=_PATH, metavar="FILE", help="Write which IDs to move so that no group spans two sets.")
@click.option("--label", metavar="FIELD", help="The field whose balance a repair keeps.")
@_REVIEWED
@_opening
@_listening
def overlap(
    sets: tuple[str, ...],
    group_by: tuple[str, ...],
    repair: Path | None,
    label: str | None,
    reviewed: Path | None,
    key: Key,
    ear: _Ear,
) -> Report:
    """Find the same recording in several sets: splits, tasks, benchmarks, training data.

    A PATH is audio, a folder, records or a release that refer to audio, a reference index, or a list of digests or of
    IDs (FMA, Jamendo, Freesound, YouTube, MSD, MusicBrainz, ISRC), one a line.  Paths of one NAME are one set.
    """
    from leakscan import overlapping, reviewing
    from leakscan.sets import parse

    reviews = reviewing.read(reviewed) if reviewed is not None else reviewing.Reviews()
    options = overlapping.Options(group_by, label, repair, reviews)
    return overlapping.overlap_paths(parse(sets), key, ear.memory, options, ear.wanted, ear.tell)


@cli.group()
def query() -> None:
    """Match by post: the maintainer's index stays at home, IDs and match rows come back.

    The maintainer sees the fingerprints of a query, and public look-up services can name recordings from them; names
    of files are hidden.  Let nobody answer queries whom you would not tell which recordings you have.
    """


@query.command("make")
@_AUDIO
@click.option("-o", "out", type=_PATH, required=True, metavar="FILE", help="The query to write.")
@click.option("--recipient", required=True, metavar="age1...", help="The maintainer's recipient.")
@click.option("--reply-to", metavar="age1...", help="Your own recipient, to which the answer will be sealed.")
@_cached
def query_make(
    audio: tuple[Path, ...], out: Path, recipient: str, reply_to: str | None, cache: str | None, retry: bool
) -> None:
    """Write a query about AUDIO: its fingerprints, sealed to the maintainer, who then sees them.

    Without --reply-to the answer is plain and names files by number; the numbers are then printed here.
    """
    from leakscan import query as post

    with _memory(cache, retry) as memory:
        made = post.make(list(audio), out, recipient, reply_to, memory)
    click.echo(f"{printable(str(out))}: {counted(len(made.names), 'file')}, {made.minutes:.1f} minutes", err=True)
    if reply_to is None:
        for number, name in enumerate(made.names, 1):
            click.echo(f"{number}\t{printable(name)}")
    _not_read(made.unexamined)
    raise click.exceptions.Exit(3 if made.unexamined else 0)


@query.command("answer")
@click.argument("asked", type=_PATH, metavar="QUERY")
@click.option("--against", type=_PATH, required=True, metavar="INDEX", help="The reference index.")
@click.option("-o", "out", type=_PATH, required=True, metavar="FILE", help="The answer to write.")
@click.option("--requester", required=True, metavar="NAME", help="Whose query this is, as you know them.")
@click.option(
    "--quota",
    type=click.FloatRange(min=0),
    required=True,
    metavar="MINUTES",
    help="Minutes of audio that one requester may ask about in all.",
)
@click.option("--ledger", type=_PATH, required=True, metavar="FILE", help="Who asked about how much; kept private.")
@click.option("--plain", is_flag=True, help="Do not seal the answer.")
@_opening
def query_answer(
    asked: Path,
    against: Path,
    out: Path,
    requester: str,
    quota: float,
    ledger: Path,
    plain: bool,
    key: Key,
) -> None:
    """Answer QUERY with IDs and match rows; --identity opens it, and the index if that is sealed.

    You see the requester's fingerprints.  The quota is in minutes of audio, however many files they are in; a minute
    asks about at most 15 recordings.  A query over quota is refused, one that is sent again counts again.
    """
    from leakscan import query as post

    done = post.answer(asked, against, out, key, ledger=ledger, requester=requester, quota=quota, plain=plain)
    click.echo(f"{printable(str(out))}: {counted(done.files, 'file')}, {done.minutes:.1f} minutes; "
               f"{printable(requester)} has used {done.used:.1f} of {done.quota:.1f}", err=True)  # fmt: skip
    if done.replay:
        click.echo("the same query was answered before", err=True)
    if not done.sealed:
        click.echo("the answer is plain: it says which recordings the requester has", err=True)


@query.command("read")
@click.argument("answer", type=_PATH)
@_opening
@_reporting
def query_read(answer: Path, key: Key) -> Report:
    """Show an ANSWER as `leakscan match` would."""
    from leakscan import query as post

    return post.read(answer, key)


@cli.group()
def index() -> None:
    """Look after reference indexes and the keys that open them."""


@index.command("audit")
@click.argument("path", type=_PATH, metavar="INDEX")
@click.option("--catalogue", type=_PATH, metavar="INDEX", help="An index that stands for a public look-up service.")
@_opening
def index_audit(path: Path, catalogue: Path | None, key: Key) -> None:
    """Tell what an INDEX gives away, and to whom."""
    from leakscan import index as references

    known = None if catalogue is None else references.read(catalogue, key)
    for line in references.audit(path, key, known).lines():
        click.echo(line)


@index.command("new-identity")
@click.argument("path", type=_PATH, metavar="FILE")
def index_new_identity(path: Path) -> None:
    """Write a new age identity to FILE, to keep secret, and print its recipient, to give away."""
    from leakscan import sealing

    click.echo(sealing.new_identity(path))


@cli.group(invoke_without_command=True)
@click.option("--cache", metavar="DIR", help="The folder of the cache. [default: LEAKSCAN_CACHE, else the user's]")
@click.pass_context
def cache(context: click.Context, cache: str | None) -> None:
    """Tell where fingerprints are kept between runs and how much; or look after them."""
    context.obj = cache
    if context.invoked_subcommand is None:
        from leakscan import store

        for line in store.describe(cache):
            click.echo(printable(line))


@cache.command("clear")
@click.pass_obj
def cache_clear(folder: str | None) -> None:
    """Forget all fingerprints."""
    from leakscan import store

    for line in store.clear(folder):
        click.echo(printable(line))


@cache.command("prune")
@click.pass_obj
def cache_prune(folder: str | None) -> None:
    """Forget what belongs to no unchanged file any more (also: what was a container's member)."""
    from leakscan import store

    for line in store.prune(folder):
        click.echo(printable(line))


@cli.command()
@click.argument("rule", required=False)
@click.option(
    "--rules", "folders", multiple=True, type=_PATH, help="A folder of further rules (TOML); may be repeated."
)
def explain(rule: str | None, folders: tuple[Path, ...]) -> None:
    """Say why a RULE matters and how to mend what it finds; without RULE, list all rules."""
    from leakscan import config, rulebook

    rules = {known.id: known for known in rulebook.load(folders)}
    if rule is None:
        width = max(map(len, rules))
        for known in rules.values():
            click.echo(f"{known.id.ljust(width)}  {known.level.ljust(7)}  {known.title}")
        return
    if rule not in rules:
        raise click.UsageError(f"unknown rule '{rule}'; {config.nearest(rule, rules)}")
    known = rules[rule]
    click.echo(f"{known.id} ({known.level}): {known.title}\n\n{known.why}\n\nFix: {known.fix}")


@cli.command()
def doctor() -> None:
    """Tell what was found on this machine and what is missing."""
    from leakscan import doctor as examination

    rows = examination.diagnose()
    click.echo(examination.page(rows), nl=False)
    raise click.exceptions.Exit(examination.status(rows))


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit; no foreign exception and no traceback reaches the user."""
    try:
        status = cli.main(arguments, prog_name="leakscan", standalone_mode=False)
        sys.exit(status if isinstance(status, int) else 0)
    except click.exceptions.Abort:
        click.echo("leakscan: interrupted", err=True)
        sys.exit(130)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        click.echo(f"leakscan: {printable(error.format_message())}", err=True)
        sys.exit(2)
    except LeakscanError as error:
        click.echo(f"leakscan: {printable(str(error))}", err=True)
        sys.exit(3 if isinstance(error, Unreadable) else 2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # a reader such as `head` went away
        sys.exit(_INTERNAL_ERROR)
    except Exception as error:
        if os.environ.get("LEAKSCAN_DEBUG"):
            raise
        # only where and what kind: the message of a foreign error may hold a value
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        click.echo(f"leakscan: internal error ({type(error).__name__} at {where}); please report it", err=True)
        sys.exit(_INTERNAL_ERROR)


if __name__ == "__main__":
    main()
