target_include_directories(mercer_gp SYSTEM PRIVATE ${KISSFFT_INCLUDE})
