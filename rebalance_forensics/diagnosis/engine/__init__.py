"""Turn hypotheses into incidents: weigh each cause, choose the verdict, rule out the others, list the missing logs."""
