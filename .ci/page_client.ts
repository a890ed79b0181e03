import { join } from 'node:path'
import { readConfig } from '../src/config/config.ts'
import { clientText } from '../src/http/openapi/client.ts'
import { describePlanes } from '../src/service/planes.ts'
import { describeServices } from '../src/service/routes.ts'

/**
 * `bun run page:client`: writes the typed clients of the three OpenAPI documents, from which the pages import their types.
 * No commit holds them: `check` writes them anew before it compiles the pages, and what runs needs none of them.
 */
const FOLDER = join(import.meta.dir, '../dist/client')

const config = readConfig({}, () => {
  throw new Error('Expected no file')
})
const { operator, organization } = describePlanes(config)
for (const [name, document] of Object.entries({ service: describeServices(config), organization, operator })) {
  await Bun.write(join(FOLDER, `${name}.ts`), clientText(document))
}
