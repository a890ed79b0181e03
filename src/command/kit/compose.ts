import { type KitSettings, listMounts, toMountedVariables } from './settings.ts'

/** Creates a compose file that starts PostgreSQL, migrates it and serves; it exposes only the service. */
export function composeFile(settings: KitSettings, password: () => string): string {
  const { port, operatorPort, drainSec, stopSec, variables, hostsWithName, endpoints } = settings
  const secret = password()
  // The network of the database has no way out, so it needs no TLS.
  const { DATABASE_TLS: _, ...plain }: Readonly<Record<string, string>> = {
    ...variables,
    ...toMountedVariables(settings),
    ALLOWED_HOSTS: hostsWithName,
  }
  const plainLines = Object.entries(plain).map(([name, value]) => `    ${name}: '${value}'`)
  const mounts = listMounts(settings).map(({ source, target }) => `, '${escapePath(source)}:${target}:ro'`)
  // A variable without a value takes it from .env or the shell, and stays unset if they have none.
  const passedLines = [...endpoints, 'ADMIN_TOKEN'].map((name) => `    ${name}:`)
  return `# Keep this file, and keep it private: it holds the password of the database that the first start creates.
#   docker build -t walletscope .   # in the repository
#   echo 'RPC_URL_1=https://…' >> .env && docker compose up -d
#   docker compose exec walletscope walletscope org create Shop --credits 1000 --key

x-walletscope: &walletscope
  image: walletscope
  environment: &environment
    DATABASE_URL: 'postgres://walletscope:${secret}@postgres/walletscope'
    # The network below has no way out.
    DATABASE_TLS: 'off'
    PORT: '${port}'
    OPERATOR_PORT: '${operatorPort}'
    DRAIN_SECONDS: '${drainSec}'
${[...plainLines, ...passedLines].join('\n')}
  read_only: true
  cap_drop: [ALL]
  security_opt: ['no-new-privileges:true']
  # The journal of charges to void.
  volumes: ['walletscope:/data'${mounts.join('')}]

services:
  walletscope:
    <<: *walletscope
    command: [serve]
    # Reaps what the embedded server or an exec leaves behind.
    init: true
    restart: unless-stopped
    stop_grace_period: ${stopSec}s
    ports: ['${port}:${port}', '127.0.0.1:${operatorPort}:${operatorPort}']
    networks: [default, database]
    depends_on:
      migrate:
        condition: service_completed_successfully
  migrate:
    <<: *walletscope
    command: [migrate]
    networks: [database]
    depends_on:
      postgres:
        condition: service_healthy
  postgres:
    image: postgres:17
    restart: unless-stopped
    environment:
      POSTGRES_USER: walletscope
      POSTGRES_DB: walletscope
      POSTGRES_PASSWORD: '${secret}'
    volumes: ['postgres:/var/lib/postgresql/data']
    networks: [database]
    shm_size: 256mb
    healthcheck:
      test: pg_isready --username=walletscope --host=127.0.0.1
      interval: 2s
      retries: 30

networks:
  default:
  database:
    internal: true

volumes:
  walletscope:
  postgres:
`
}

/** Escapes what would end or expand a path in the file. */
function escapePath(path: string): string {
  return path.replaceAll("'", "''").replaceAll('$', '$$$$')
}
