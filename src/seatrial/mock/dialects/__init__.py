"""The mock dressed as other engines: one file per engine, names as the engines spell them."""
