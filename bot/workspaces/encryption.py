"""Encryption of tokens and keys in the database: AES-256-GCM with a ring of keys.

A ciphertext is bound to its row and column, so that it is worthless in another place. It is written as `v1.KEY.DATA`:
KEY is the first 8 hexadecimal digits of the key's SHA-256, DATA the nonce and the encrypted secret in base64.
https://nvlpubs.nist.gov/nistpubs/Legacy/SP/nistspecialpublication800-38d.pdf
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bot.errors import Undecryptable

NONCE_BYTES = 12
VERSION = "v1"


@dataclass(frozen=True, kw_only=True)
class KeyRing:
    """Encrypts with the first of its keys, and decrypts with any of them; `current` is the name of the first."""

    current: str
    _ciphers: Mapping[str, AESGCM] = field(repr=False)

    @classmethod
    def of(cls, keys: Sequence[bytes]) -> KeyRing:
        """Return a ring of `keys`: at least one key, each of 32 bytes."""
        return cls(current=_name(keys[0]), _ciphers={_name(key): AESGCM(key) for key in keys})

    def encrypt(self, secret: str, *, place: str) -> str:
        """Return the ciphertext of a secret, which can be decrypted only with the same `place`."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        data = nonce + self._ciphers[self.current].encrypt(nonce, secret.encode(), place.encode())
        return f"{VERSION}.{self.current}.{base64.b64encode(data).decode()}"

    def decrypt(self, ciphertext: str, *, place: str) -> str:
        """Return the secret that was encrypted for a place. Raises Undecryptable, which contains no secret."""
        version, _, rest = ciphertext.partition(".")
        name, _, encoded = rest.partition(".")
        cipher = self._ciphers.get(name)
        if version != VERSION or cipher is None:
            raise Undecryptable("no key of the ring fits")
        try:
            data = base64.b64decode(encoded, validate=True)
            return cipher.decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], place.encode()).decode()
        except (InvalidTag, ValueError, binascii.Error):
            raise Undecryptable("the ciphertext was changed, or is of another place") from None

    def is_current(self, ciphertext: str) -> bool:
        """Return whether a ciphertext was made with the first key."""
        return ciphertext.startswith(f"{VERSION}.{self.current}.")


def _name(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest()[:8]


def place_of(owner: str, column: str) -> str:
    """Return the place of a secret: the id of its workspace or organization, and its column."""
    return f"{owner}:{column}"
