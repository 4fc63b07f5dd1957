import { readJson } from '../yaml/read-json.ts'
import { readYaml, type YamlReading } from '../yaml/read-yaml.ts'

/** JSON is read by V8, more than ten times as fast as by the YAML parser. */
export function readText(text: string, file: string): Pick<YamlReading, 'value' | 'faults' | 'at'> {
  return (/^\s*[{[]/.test(text) ? readJson(text, file) : undefined) ?? readYaml(text, file)
}
