module own
