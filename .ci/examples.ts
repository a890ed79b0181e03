import { join } from 'node:path'
import { askExamples } from '../test/system/program/examples.ts'

/** `bun run examples`: takes the answers that the OpenAPI document shows from a service over the devnet. */
await Bun.write(
  join(import.meta.dir, '../src/service/examples.json'),
  `${JSON.stringify(await askExamples(), null, 2)}\n`,
)
process.exit(0)
