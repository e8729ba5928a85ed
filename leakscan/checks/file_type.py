"""Audio files that are something else than their names say: MP3 in a `.wav`, a recording in a `.txt`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from leakscan.config import Config
from leakscan.model import Columns, Finding, Item, Observation, Place, Private, Release
from leakscan.text import is_audio_name

CONTAINERS = {
    "aac": "aac adts",
    "ac3": "ac3 eac3 ec3",
    "aiff": "aif aiff aifc",
    "asf": "wma asf",
    "au": "au snd",
    "caf": "caf",
    "dsf": "dsf",
    "flac": "flac fla",
    "matroska": "mka mkv webm weba",
    "mp3": "mp1 mp2 mp3 mpga",
    "mp4": "mp4 m4a m4b m4r aac alac mov 3gp",
    "musepack": "mpc mpp",
    "ogg-flac": "ogg oga",
    "ogg-opus": "opus ogg oga",
    "ogg-speex": "spx ogg oga",
    "ogg-vorbis": "ogg oga",
    "tta": "tta",
    "w64": "w64",
    "wav": "wav wave bwf rf64",
    "wavpack": "wv",
}
"""The usual extensions of containers; others are not judged."""


def check(config: Config, private: Private) -> _FileType:
    """The check; it needs nothing of the evaluator's side."""
    return _FileType()


class _FileType:
    def look(self, items: Sequence[Item], columns: Columns) -> Iterable[Observation]:
        """The container of an audio file whose extension is not one of its own."""
        item = items[0]
        if item.kind != "audio" or item.body.container not in CONTAINERS:
            return ()
        path = item.place.path
        name = path.rpartition("/")[2].rpartition("!")[2]
        if "!" in path and not is_audio_name(name):
            return ()  # a cell or a value: what it is called is a matter of its table
        extension = name.rpartition(".")[2].lower() if "." in name else ""
        if extension in CONTAINERS[item.body.container].split():
            return ()
        return (Observation(Place(path, name="file"), item.body.container),)

    def finish(self, release: Release, observations: Sequence[Observation]) -> Iterator[Finding]:
        """One finding for all of them."""
        if observations:
            places = tuple(observation.place for observation in observations)
            containers = ", ".join(sorted({observation.value for observation in observations}))
            message = f"not what the extension says, but {containers}"
            yield Finding("", "warning", "proven", message, places[0], len(places), places)
