"""Write the schemas anew."""

from seatrial.workload.schema import write

write()
