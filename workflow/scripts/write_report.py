"""Write the report of a study: one page with its figures, tables and links to the data."""

from pathlib import Path

from slowlab.prereg.job import locked_job
from slowlab.report.files import write_report

with locked_job(snakemake.input, snakemake.output):
    write_report(
        Path(snakemake.output[0]),
        numbers=Path(snakemake.input.numbers),
        figures=[Path(path) for path in snakemake.input.figures],
        tables=[Path(path) for path in snakemake.input.tables],
        data=[Path(path) for path in snakemake.input.data],
        look=Path(snakemake.input.look),
        transcripts=next(map(Path, snakemake.input.transcripts), None),
    )
