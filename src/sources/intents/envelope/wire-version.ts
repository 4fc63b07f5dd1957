/** Version of the wire format, and of an intent that names none. */
export const wireVersion = '1.0'
