# One folder, one target. The four locks on the layout (HACKING.md) start here:
#   configure  a dependency outside the folder's row, or not yet declared, is refused;
#   compile    a folder is reached only through build/see/<name>/weir/<name>, exported by its target;
#   text       layout.includes reads every quoted include;
#   symbols    pure.<name> reads the undefined symbols of each pure archive.
#
# weir_module(NAME kv HDRS page_pool.h SRCS page_pool.cc
#             [DEPS base spec]          folders whose headers its public headers include
#             [PRIVATE_DEPS sys]        folders only its .cc files use
#             [LIBS fmt::fmt] [PRIVATE_LIBS ...]   third-party targets
#             [TESTS page_pool_test.cc] [TEST_LIBS ...] [TEST_DEPS ...])
include(${CMAKE_CURRENT_LIST_DIR}/layers.cmake)

function(weir_module)
  cmake_parse_arguments(M "" "NAME"
    "HDRS;SRCS;DEPS;PRIVATE_DEPS;LIBS;PRIVATE_LIBS;TESTS;TEST_LIBS;TEST_DEPS" ${ARGN})
  if(NOT DEFINED WEIR_MAY_USE_${M_NAME})
    message(FATAL_ERROR "weir/${M_NAME} has no row in cmake/layers.cmake")
  endif()
  foreach(dep IN LISTS M_DEPS M_PRIVATE_DEPS M_TEST_DEPS)
    if(NOT dep IN_LIST WEIR_MAY_USE_${M_NAME})
      message(FATAL_ERROR "weir/${M_NAME} may not use weir/${dep}: see cmake/layers.cmake")
    endif()
    if(NOT TARGET weir_${dep})
      message(FATAL_ERROR "weir/${dep} must be declared before weir/${M_NAME}")
    endif()
  endforeach()

  set(root ${PROJECT_BINARY_DIR}/see/${M_NAME})
  file(MAKE_DIRECTORY ${root}/weir)
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/weir/${M_NAME} SYMBOLIC)
  list(TRANSFORM M_DEPS PREPEND weir::)
  list(TRANSFORM M_PRIVATE_DEPS PREPEND weir::)
  list(TRANSFORM M_TEST_DEPS PREPEND weir::)

  if(M_SRCS)
    add_library(weir_${M_NAME} STATIC ${M_SRCS} ${M_HDRS})
    target_include_directories(weir_${M_NAME} PUBLIC ${root})
    target_link_libraries(weir_${M_NAME} PUBLIC ${M_DEPS} ${M_LIBS}
                                         PRIVATE ${M_PRIVATE_DEPS} ${M_PRIVATE_LIBS} weir_flags)
  else()
    add_library(weir_${M_NAME} INTERFACE)
    target_include_directories(weir_${M_NAME} INTERFACE ${root})
    target_link_libraries(weir_${M_NAME} INTERFACE ${M_DEPS} ${M_LIBS})
  endif()
  add_library(weir::${M_NAME} ALIAS weir_${M_NAME})

  # Every public header compiles alone, seeing only the PUBLIC dependencies.
  set(alone "")
  foreach(h IN LISTS M_HDRS)
    file(CONFIGURE OUTPUT alone/${h}.cc CONTENT "#include \"weir/@M_NAME@/@h@\"\n" @ONLY)
    list(APPEND alone ${CMAKE_CURRENT_BINARY_DIR}/alone/${h}.cc)
  endforeach()
  if(alone AND WEIR_CHECK_HEADERS)
    add_library(weir_${M_NAME}_alone OBJECT ${alone})
    target_link_libraries(weir_${M_NAME}_alone PRIVATE weir::${M_NAME} weir_flags)
  endif()

  if(M_SRCS AND M_NAME IN_LIST WEIR_PURE)
    add_test(NAME pure.${M_NAME}
      COMMAND ${PROJECT_SOURCE_DIR}/tools/check_pure $<TARGET_FILE:weir_${M_NAME}>)
  endif()

  if(M_TESTS)
    add_executable(weir_${M_NAME}_test ${M_TESTS})
    target_link_libraries(weir_${M_NAME}_test PRIVATE weir::${M_NAME} ${M_PRIVATE_DEPS}
      ${M_PRIVATE_LIBS} ${M_TEST_DEPS} ${M_TEST_LIBS} weir_flags GTest::gtest GTest::gmock GTest::gtest_main)
    # PRE_TEST: tests are listed when ctest runs, so building needs no run of the binary.
    gtest_discover_tests(weir_${M_NAME}_test TEST_PREFIX ${M_NAME}. DISCOVERY_MODE PRE_TEST
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTIES TIMEOUT 900)
  endif()
endfunction()

function(weir_seal)
  foreach(m IN LISTS WEIR_LAYERS)
    if(NOT TARGET weir_${m})
      message(FATAL_ERROR "layers.cmake names weir/${m}, but no target was declared")
    endif()
  endforeach()
  add_test(NAME layout.includes COMMAND ${CMAKE_COMMAND} -P ${PROJECT_SOURCE_DIR}/cmake/check_includes.cmake
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()
