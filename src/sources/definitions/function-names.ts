/** A function that has to do with tools by its name, and is not called to find out. */
export interface NamedFunction {
  readonly reason: string
  /** When it is worth a diagnostic: its name alone says too little otherwise. */
  readonly only?: 'if_empty' | 'if_functions_are_missing'
}

/** What the name of an exported function says about tools; the first row that fits. */
const rows: readonly (NamedFunction & { readonly name: RegExp })[] = [
  {
    // Helpers such as isTool, hasTools and toTool.
    name: /^(is|has|to|as|assert)_?[A-Z]?\w*tools?$/i,
    only: 'if_empty',
    reason: notCalled('Export what it returns'),
  },
  {
    name: /^(execute|run|call|handle|dispatch|invoke|process|perform)_?\w*tools?(_?(calls?|use))?$/i,
    only: 'if_functions_are_missing',
    reason: 'it runs tools by their name, and what it takes is not known',
  },
  {
    name: /(tools?|toolkit|toolset)$/i,
    reason: notCalled('Export what it returns'),
  },
  {
    name: /^(create|make|build|get|new|init|setup)(_?\w*mcp)?_?server$/i,
    only: 'if_empty',
    reason: notCalled('Export the server: export const server = …'),
  },
]

export const findNamedFunction = (name: string): NamedFunction | undefined =>
  rows.find((row) => row.name.test(name))

function notCalled(advice: string): string {
  return `it is a function, and functions are not called to get tools. ${advice}`
}
