/** The 25th percentile: less sensitive to other load than the median, and to luck than the minimum. */
export const lowerQuartile = (values) => quantile(values, 0.25)

export const quantile = (values, share) =>
  [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * share)]
