"""How sure the report says it is, against how often it is right, measured on labelled incidents."""
