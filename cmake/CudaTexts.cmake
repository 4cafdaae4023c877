# Writes CUDA sources and headers into one file, each behind a line with its kind, name and bytes:
# cmake -DLIST=... -DOUTPUT=... -P cmake/CudaTexts.cmake
# LIST has a line for each: "source permute_tile /path/permute_tile.cu" or "header lib/cuda.cuh /path/cuda.cuh".
# Comments are left out (docs/design/size.md), but not the //! lines, which state variants; every line stays, so that
# NVRTC's line numbers are those of the files. A string must not hold "//" or "/*": tests/abi/stored_test.cpp sees that.
# src/embedded/texts.cpp reads it.
cmake_minimum_required(VERSION 3.25)
file(STRINGS ${LIST} lines)
file(WRITE ${OUTPUT} "")
foreach(line IN LISTS lines)
  string(REGEX MATCH "^([a-z]+) ([^ ]+) (.+)$" matched "${line}")
  set(head "${CMAKE_MATCH_1} ${CMAKE_MATCH_2}")
  set(file "${CMAKE_MATCH_3}")
  file(SIZE "${file}" bytes)
  file(READ "${file}" text)
  string(LENGTH "${text}" length)
  if(NOT length EQUAL bytes)
    message(FATAL_ERROR "${file} is no text: ${length} of ${bytes} bytes were read")
  endif()
  string(REGEX REPLACE "/\\*[^*\n]*\\*/" " " text "${text}")
  string(REGEX REPLACE "[ \t]*//([^!\n][^\n]*)?\n" "\n" text "${text}")
  string(LENGTH "${text}" length)
  file(APPEND ${OUTPUT} "${head} ${length}\n")
  file(APPEND ${OUTPUT} "${text}")
endforeach()
