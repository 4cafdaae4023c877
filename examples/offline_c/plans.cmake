# Writes FOLDER/plans.h from FOLDER/manifest.json: the headers of all plans, the plans in order, and what their modules
# ask of the device. cmake -DFOLDER=... -P plans.cmake
file(READ ${FOLDER}/manifest.json manifest)

# each_of(OUT KEY...): the elements of every module's list of that name, once.
function(each_of out key)
  set(found "")
  string(JSON modules LENGTH "${manifest}" modules)
  foreach(module RANGE 1 ${modules})
    math(EXPR module "${module} - 1")
    string(JSON count LENGTH "${manifest}" modules ${module} ${key})
    if(count GREATER 0)
      foreach(i RANGE 1 ${count})
        math(EXPR i "${i} - 1")
        string(JSON name GET "${manifest}" modules ${module} ${key} ${i})
        list(APPEND found ${name})
      endforeach()
    endif()
  endforeach()
  list(REMOVE_DUPLICATES found)
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

each_of(features vulkan_features)
each_of(extensions vulkan_extensions)
set(includes "")
set(plans "")
string(JSON count LENGTH "${manifest}" plans)
foreach(i RANGE 1 ${count})
  math(EXPR i "${i} - 1")
  string(JSON header GET "${manifest}" plans ${i} header)
  string(JSON name GET "${manifest}" plans ${i} name)
  string(MAKE_C_IDENTIFIER sectile_${name} name)
  string(APPEND includes "#include \"${header}\"\n")
  string(APPEND plans "&${name}, ")
endforeach()
list(TRANSFORM features REPLACE "(.+)" "\"\\1\", ")
list(TRANSFORM extensions REPLACE "(.+)" "\"\\1\", ")
list(LENGTH extensions extension_count)
list(JOIN features "" features)
list(JOIN extensions "" extensions)
file(WRITE ${FOLDER}/plans.h "${includes}
enum { kPlans = ${count}, kExtensions = ${extension_count} };
static const struct sectile_emitted_plan* const kPlan[kPlans] = {${plans}};
/* Each ends with a null. */
static const char* const kFeatureNames[] = {${features}0};
static const char* const kExtensionNames[] = {${extensions}0};
")
