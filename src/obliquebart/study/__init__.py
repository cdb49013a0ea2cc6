"""The paper's experiments: its data sets, its competitors, a runner and a report.

``datasets`` and ``synthetic`` make problems, ``methods`` solves one, ``units`` names a piece of
work, ``plans`` lists the pieces of an experiment, ``runner`` does what is missing in processes or
on a Dask cluster, ``store`` saves the results and ``comparison`` compares them with the paper's.
"""
