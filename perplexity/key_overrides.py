"""Keys that the current task brings along: used instead of the configured ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class OwnKeys:
    """The keys of one `owner` by the address of their service, as it is configured, without a final slash.

    `names` are the display names of these services. What fails there is counted apart, so that one owner's bad key
    keeps no one else from a service; at the others the configured keys are used, and what fails counts for everyone.
    """

    owner: str
    names: Collection[str] = ()
    keys: Mapping[str, str] = field(repr=False)
