mktemp fooXXX # fine
# TODO
