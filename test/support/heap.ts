import v8 from 'node:v8'
import vm from 'node:vm'

v8.setFlagsFromString('--expose-gc')
const collectGarbage = vm.runInNewContext('gc') as () => void

/** Kilobytes of reachable objects in this process. */
export function reachableKilobytes(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed / 1024
}
