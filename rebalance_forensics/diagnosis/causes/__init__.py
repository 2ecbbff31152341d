"""The root causes, one in each module: the hypotheses it proposes, the signs that decide, and the explanation."""
