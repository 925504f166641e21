"""Tables of patients from OMOP databases."""
