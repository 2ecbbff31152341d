"""The tables at rest: where their rows lie, who may write them, what earlier runs left."""
