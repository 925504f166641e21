def omop_patients(): pass
