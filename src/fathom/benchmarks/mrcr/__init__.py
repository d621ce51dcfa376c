"""MRCR: several texts were written on request in a long conversation; one of them is to be copied."""
