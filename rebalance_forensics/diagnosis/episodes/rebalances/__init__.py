"""Rebalances themselves: barriers that stood open, assignments that failed, rejoins that nothing asked for."""
