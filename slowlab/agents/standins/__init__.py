"""Stand-ins: scripted programs behind a real local endpoint, in the place of language models.

They are not language models. They exist so that a whole study runs and is tested without a key, a
network or a cost: three play sensibly, six misbehave in the ways that endpoints and models do.
"""

from slowlab.agents.standins.registry import SCRIPTS as SCRIPTS
from slowlab.agents.standins.registry import model_name as model_name
from slowlab.agents.standins.server import serve_stand_ins as serve_stand_ins
