# What `make install` adds to the program: manual, completions and a user unit. The program prints the first two itself,
# so they cannot differ from it.
set(to "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
foreach(entry
    "man|share/man/man1/nod.1"
    "completion;bash|share/bash-completion/completions/nod"
    "completion;zsh|share/zsh/site-functions/_nod"
    "completion;fish|share/fish/vendor_completions.d/nod.fish")
  string(REGEX REPLACE "[|].*" "" words "${entry}")
  string(REGEX REPLACE ".*[|]" "" name "${entry}")
  get_filename_component(folder "${to}/${name}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  execute_process(COMMAND "${to}/bin/nod" ${words} OUTPUT_FILE "${to}/${name}" RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "nod ${words}: ${status}")
  endif()
  message(STATUS "Installing: ${to}/${name}")
endforeach()
# `nod setup` writes one of its own, with this person's folders; this one is for `systemctl --user enable --now nod`.
file(WRITE "${to}/lib/systemd/user/nod.service" "[Unit]
Description=Nod: people answer what agents ask
Documentation=man:nod(1)

[Service]
ExecStart=${CMAKE_INSTALL_PREFIX}/bin/nod serve
Restart=on-failure
RestartSec=1
TimeoutStopSec=30

[Install]
WantedBy=default.target
")
message(STATUS "Installing: ${to}/lib/systemd/user/nod.service")
