"""Studies: experiments that check what the sources say, and the ledger of what they say."""

from ..catalog import lazy

lazy(__name__)
