export const sealFormats = ['v2', 'v1'] as const
