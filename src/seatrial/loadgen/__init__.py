"""The load generator: releases requests on time, stamps what comes back, and judges itself.

    prompts, schedule -> plan -> crew of workers (driver, pool, wire) -> spool -> reading -> records

The hot path (``wire``) only stamps and appends; what the bytes mean is found after the run.
"""
