import { readFileSync } from 'node:fs'
import { postAll } from './post_cases.ts'

const [port, ca = ''] = process.argv.slice(2)
process.stdout.write(JSON.stringify(await postAll({ port: Number(port), ca: readFileSync(ca, 'utf8') })))
process.exit()
