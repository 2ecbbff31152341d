"""Hypotheses by what they are about: shapes of several causes, and the several of one cause, with their signs."""
