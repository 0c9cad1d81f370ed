# The layout of Weir, one row a folder: a folder may see only folders of its row, and every
# folder of a row stands above it, so a cycle cannot be written.
# A row may be shortened freely; lengthening one is a design decision and belongs in its own commit.
set(WEIR_LAYERS base spec kv policy sched plan jinja text api measure sys format http hub load compute model engine server cli)

set(WEIR_MAY_USE_base    "")
set(WEIR_MAY_USE_spec    base)
set(WEIR_MAY_USE_kv      base spec)
set(WEIR_MAY_USE_policy  base spec)
set(WEIR_MAY_USE_sched   base spec kv policy)
set(WEIR_MAY_USE_plan    base spec policy)
set(WEIR_MAY_USE_jinja   base)
set(WEIR_MAY_USE_text    base spec jinja)
set(WEIR_MAY_USE_api     base spec)
set(WEIR_MAY_USE_measure base spec api)
set(WEIR_MAY_USE_sys     base)
set(WEIR_MAY_USE_format  base spec sys)
set(WEIR_MAY_USE_http    base sys)
set(WEIR_MAY_USE_hub     base sys http)
set(WEIR_MAY_USE_load    base spec measure sys http)
set(WEIR_MAY_USE_compute base spec sys)
set(WEIR_MAY_USE_model   base spec sys text format compute)
set(WEIR_MAY_USE_engine  base spec sys kv policy sched compute model)
set(WEIR_MAY_USE_server  base spec sys text api http engine)
set(WEIR_MAY_USE_cli     base spec plan sys text measure format http hub load compute model engine server)

# These never read a clock, a file, a socket, a thread or the environment; a test reads their symbols.
# base is empty-handed too, save that its check() aborts.
set(WEIR_PURE spec kv policy sched plan jinja text api measure)
