"""The confidence of reports compared with how often they are right, measured on labelled incidents."""
