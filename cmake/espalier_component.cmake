# espalier_component(NAME [LIBRARIES lib...] [DEFINITIONS def...])
#
# Declares the folder NAME of src/ as an object library `espalier_NAME` from every .cpp below it, and, with tests enabled,
# its unit tests (every *_test.cpp beside the source, and what folders named testing/ hold) as one program
# `espalier_NAME_test`.
#
# A file's suffix names the instruction set it is compiled for (spmm_f32_avx512.cpp); all other files are baseline x86-64,
# so that the library starts everywhere and chooses at run time.

set(ESPALIER_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(ESPALIER_ISA_FLAGS_avx512
    -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd -mprefer-vector-width=512)
set(ESPALIER_ISA_FLAGS_avx512bf16 ${ESPALIER_ISA_FLAGS_avx512} -mavx512bf16)
set(ESPALIER_ISA_FLAGS_vnni ${ESPALIER_ISA_FLAGS_avx512} -mavx512vnni)
set(ESPALIER_ISA_FLAGS_amx ${ESPALIER_ISA_FLAGS_vnni} -mavx512vbmi -mavx512vbmi2 -mavx512bf16 -mamx-tile -mamx-bf16
                           -mamx-int8)

# GCC 12 calls the undefined operands inside its own AVX-512 intrinsics uninitialised (GCC bug 105593).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  foreach(isa avx512 avx512bf16 vnni amx)
    list(APPEND ESPALIER_ISA_FLAGS_${isa} -Wno-uninitialized -Wno-maybe-uninitialized)
  endforeach()
endif()

add_library(espalier_build_flags INTERFACE)
target_compile_features(espalier_build_flags INTERFACE cxx_std_20)
target_include_directories(espalier_build_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
                                                          ${PROJECT_BINARY_DIR}/include)
target_compile_options(espalier_build_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees overlapping copies in std::string's operator+ that are not there (GCC bug 105651).
  target_compile_options(espalier_build_flags INTERFACE -Wno-restrict)
endif()
if(ESPALIER_WARNINGS_AS_ERRORS)
  target_compile_options(espalier_build_flags INTERFACE -Werror)
endif()
if(ESPALIER_SANITIZE)
  # By directory, so that these come before a target's own options, which may leave out a check.
  add_compile_options(-fsanitize=${ESPALIER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(espalier_build_flags INTERFACE -fsanitize=${ESPALIER_SANITIZE})
endif()
if(ESPALIER_BUILD_FUZZ)
  target_compile_options(espalier_build_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
foreach(feature OPENMP ONEDNN ONNX)
  target_compile_definitions(espalier_build_flags INTERFACE ESPALIER_WITH_${feature}=$<BOOL:${ESPALIER_WITH_${feature}}>)
endforeach()

function(espalier_set_isa_flags)
  foreach(source IN LISTS ARGN)
    if(source MATCHES "_(avx2|avx512|avx512bf16|vnni|amx)\\.cpp$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${ESPALIER_ISA_FLAGS_${CMAKE_MATCH_1}}")
    endif()
  endforeach()
endfunction()

# For tests and commands, whose own code runs once: optimising it takes longer than running it.
function(espalier_compile_quickly target)
  if(ESPALIER_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  else()
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

function(espalier_component name)
  cmake_parse_arguments(arg "" "" "LIBRARIES;DEFINITIONS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/plugins/") # shared objects of their own
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$|/testing/")
  list(FILTER sources EXCLUDE REGEX "/testing/")
  if(NOT sources)
    return()
  endif()
  espalier_set_isa_flags(${sources})

  add_library(espalier_${name} OBJECT ${sources})
  set_target_properties(
    espalier_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(espalier_${name} PUBLIC espalier_build_flags fmt::fmt tl::expected ${arg_LIBRARIES})
  target_compile_definitions(espalier_${name} PRIVATE ESPALIER_BUILDING=1 PUBLIC ${arg_DEFINITIONS})
  set_property(GLOBAL APPEND PROPERTY ESPALIER_COMPONENTS ${name})
  if(tests AND ESPALIER_BUILD_TESTS)
    set_property(GLOBAL APPEND PROPERTY ESPALIER_TESTED_COMPONENTS ${name})
    set_property(GLOBAL PROPERTY ESPALIER_TESTS_${name} ${tests})
  endif()
endfunction()

# Joins the object libraries of all components so far into one library for tests and fuzzing, which may look inside.
function(espalier_add_internal_library)
  get_property(components GLOBAL PROPERTY ESPALIER_COMPONENTS)
  add_library(espalier_internal STATIC)
  foreach(component IN LISTS components)
    target_link_libraries(espalier_internal PUBLIC espalier_${component})
  endforeach()
endfunction()

function(espalier_add_unit_tests)
  get_property(tested GLOBAL PROPERTY ESPALIER_TESTED_COMPONENTS)
  foreach(component IN LISTS tested)
    get_property(tests GLOBAL PROPERTY ESPALIER_TESTS_${component})
    if(NOT ESPALIER_WITH_RAPIDCHECK)
      list(FILTER tests EXCLUDE REGEX "_property_test\\.cpp$")
    endif()
    espalier_set_isa_flags(${tests})
    add_executable(espalier_${component}_test ${tests})
    target_link_libraries(espalier_${component}_test PRIVATE espalier_internal GTest::gtest GTest::gmock GTest::gtest_main)
    if(ESPALIER_WITH_RAPIDCHECK)
      target_link_libraries(espalier_${component}_test PRIVATE rapidcheck)
    endif()
    target_compile_definitions(espalier_${component}_test PRIVATE ESPALIER_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    espalier_compile_quickly(espalier_${component}_test)
    # The label's words choose what `scripts/test --all` repeats: under every instruction set, and under ThreadSanitizer.
    # One label holds them all, since gtest_discover_tests splits lists.
    set(label unit)
    if(component MATCHES "^(kernels|machine|matmul|ops|plan|runtime)$")
      string(APPEND label "_isa")
    endif()
    if(component MATCHES "^(base|kernels|matmul|plan|runtime)$")
      string(APPEND label "_threads")
    endif()
    gtest_discover_tests(
      espalier_${component}_test
      TEST_PREFIX "${component}."
      DISCOVERY_MODE PRE_TEST
      DISCOVERY_TIMEOUT 120
      PROPERTIES LABELS ${label})
  endforeach()
endfunction()
