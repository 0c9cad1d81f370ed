# cmake -DIN=registry.yaml -DOUT=registry_yaml.cc -P embed_yaml.cmake
file(READ ${IN} text)
file(WRITE ${OUT} "// Made from registry.yaml.\nnamespace weir::plan {\nextern const char* const kRegistryYaml;\nconst char* const kRegistryYaml = R\"yaml(${text})yaml\";\n}\n")
