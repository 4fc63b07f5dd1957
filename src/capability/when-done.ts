/** `then` without `async`: each promise costs more than most steps of a call. */
export const whenDone = <Value, Next>(
  value: Value | Promise<Value>,
  next: (value: Value) => Next | Promise<Next>,
): Next | Promise<Next> => (value instanceof Promise ? value.then(next) : next(value))
