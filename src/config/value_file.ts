import { describeReadError } from './read_file.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Variables with secrets and URLs: `NAME_FILE` may name a file with the value. */
const FROM_FILES = /^(?:ADMIN_TOKEN|DATABASE_(?:READ_)?URL|PUBLIC_URL|RPC_URL_[^_]+|SOLANA_RPC_URL)$/
const SUFFIX = '_FILE'

/**
 * Replaces each `_FILE` variable by the text of its file, as Docker and Kubernetes mount secrets. Lines of a file with
 * endpoints become the parts of the list. An empty variable counts as absent.
 */
export function resolveValueFiles(
  environment: Environment,
  readFile: (path: string) => string,
): { readonly env: Environment; readonly mistakes: string[] } {
  const env = { ...environment }
  const mistakes: string[] = []
  for (const [name, path] of Object.entries(environment)) {
    const variable = name.slice(0, -SUFFIX.length)
    if (!name.endsWith(SUFFIX) || !FROM_FILES.test(variable)) continue
    delete env[name]
    if (path === undefined || path.trim() === '') continue
    if (environment[variable]?.trim()) mistakes.push(`${name}: expected either it or ${variable}`)
    try {
      const lines = readFile(path.trim())
        .trim()
        .split(/\s*\n\s*/)
      env[variable] = lines.join(',')
      if (env[variable] === '') mistakes.push(`${name}: the file is empty`)
      if (lines.length > 1 && !variable.includes('RPC_URL')) mistakes.push(`${name}: expected a file of one line`)
    } catch (error) {
      mistakes.push(`${name}: ${describeReadError(error)}`)
    }
  }
  return { env, mistakes }
}
