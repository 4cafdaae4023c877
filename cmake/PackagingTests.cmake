# What is packaged: the manual and the completions, the archives, and with SECTILE_THOROUGH in the environment the
# source archive and the .deb packages. Installed trees are ConsumerTest.cmake's.
if(SECTILE_TEXTS)
  add_test(NAME command_texts COMMAND bash ${PROJECT_SOURCE_DIR}/tests/packaging/texts.sh $<TARGET_FILE:sectile_command>)
endif()
set(archives "")
foreach(name IN LISTS SECTILE_LIBRARIES)
  list(APPEND archives $<TARGET_FILE:sectile_${name}>)
endforeach()
add_test(NAME archives COMMAND bash ${PROJECT_SOURCE_DIR}/tests/packaging/archives.sh ${CMAKE_NM} ${archives})
