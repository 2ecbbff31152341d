"""Rebalances themselves: barriers that stood open, assignments that failed, rejoins without a logged reason."""
