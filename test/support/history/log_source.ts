import type { LogSource } from '../../../src/history/logs/source.ts'
import { toWritten } from '../../../src/history/logs/written.ts'

/** A double whose logs are parsed whenever they are asked for. */
export function createLogSourceDouble(double: Omit<LogSource, 'written'>): LogSource {
  return {
    ...double,
    written: async ({ filter, range }, work) => toWritten(await double.logs(filter, range, work)),
  }
}
