from .array import ArrayEncoder as ArrayEncoder
from .script import script_template as script_template
from .state import encoder_of as encoder_of
from .table import TableEncoder as TableEncoder
