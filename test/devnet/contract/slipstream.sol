// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {LmPool} from './masterchef.sol';
import {Front, PoolDeployer} from './pancakeswap.sol';

interface IStakedPool {
    function gauge() external view returns (address);
    function initialize(uint160) external;
    function positions(bytes32) external view returns (uint128, uint256, uint256, uint128, uint128);
    function setFeeProtocol(uint32, uint32) external;
    function setLmPool(address) external;
    function slot0() external view returns (uint160, int24, uint16, uint16, uint16, bool);
}

interface IGauge {
    function isOpen() external view returns (bool);
}

interface IEnumeratedManager {
    function ownerOf(uint256) external view returns (address);
    function positions(uint256) external view returns (uint256[12] memory);
}

/*
 * Stand-ins for Slipstream, whose own contracts no package has: PancakeSwap's pool and Uniswap's manager, each behind a
 * front that answers in Slipstream's words. What is staked is a position of the gauge's in the pool. So its fees are not
 * the manager's, and unstaked liquidity gives up nothing of its own: `unstakedFee` is 0.
 */

/// Makes pools, which tokens and tick spacing name; the fee is another matter.
contract SlipstreamFactory is PoolDeployer {
    mapping(address tokenA => mapping(address tokenB => mapping(int24 tickSpacing => address))) public getPool;
    address[] public allPools;
    address public immutable voter;

    constructor(address creationCode, address voter_) PoolDeployer(creationCode) {
        voter = voter_;
    }

    function createPool(
        address token0,
        address token1,
        int24 tickSpacing,
        uint24 fee,
        uint160 sqrtPriceX96
    ) external returns (address pool) {
        bytes32 salt = keccak256(abi.encode(token0, token1, tickSpacing));
        pool = create(Parameters(address(this), token0, token1, fee, tickSpacing), salt);
        (getPool[token0][token1][tickSpacing], getPool[token1][token0][tickSpacing]) = (pool, pool);
        allPools.push(pool);
        IStakedPool(pool).initialize(sqrtPriceX96);
        // Slipstream's pools keep nothing for a protocol.
        IStakedPool(pool).setFeeProtocol(0, 0);
    }

    function allPoolsLength() external view returns (uint256) {
        return allPools.length;
    }

    /// Gives a pool its gauge, for ever.
    function setGauge(address pool, address gauge) external returns (address stakes) {
        require(msg.sender == voter, 'not the voter');
        stakes = address(new SlipstreamStakes(pool, gauge));
        IStakedPool(pool).setLmPool(stakes);
    }
}

/// What of a pool's liquidity is staked. A reserve is given away at a rate, for as long as it lasts, to what is staked and
/// in range; nothing of it while there is none.
contract SlipstreamStakes is LmPool {
    uint256 public rewardRate;
    uint256 public rewardReserve;

    constructor(address pool, address gauge) LmPool(pool, gauge) {}

    function setReward(uint256 rate, uint256 reserve) external {
        require(msg.sender == masterChef, 'not the gauge');
        (rewardRate, rewardReserve) = (rate, reserve);
    }

    function emitUntil(uint32 now_) internal override returns (uint256) {
        uint256 due = rewardRate * (now_ - lastRewardTimestamp);
        if (due > rewardReserve) due = rewardReserve;
        rewardReserve -= due;
        return due << 128;
    }

    function readTick() internal view override returns (int24 tick) {
        (, tick,,,,) = IStakedPool(pool).slot0();
    }
}

/// Stands before PancakeSwap's pool: its storage is that pool's.
contract SlipstreamPool is Front {
    struct Position {
        uint128 liquidity;
        uint256 inside0;
        uint256 inside1;
        uint128 owed0;
        uint128 owed1;
    }

    uint256[8] private _before;
    mapping(bytes32 key => Position) private _positions;
    uint256[65535] private _observations;
    SlipstreamStakes public lmPool;
    address private immutable _manager;
    uint256 public constant unstakedFee = 0;

    constructor(address target, address manager) Front(target) {
        _manager = manager;
    }

    function gauge() public view returns (address) {
        return address(lmPool) == address(0) ? address(0) : lmPool.masterChef();
    }

    function rewardGrowthGlobalX128() external view returns (uint256) {
        return address(lmPool) == address(0) ? 0 : lmPool.rewardGrowthGlobalX128();
    }

    function rewardRate() external view returns (uint256) {
        return address(lmPool) == address(0) ? 0 : lmPool.rewardRate();
    }

    function rewardReserve() external view returns (uint256) {
        return address(lmPool) == address(0) ? 0 : lmPool.rewardReserve();
    }

    function stakedLiquidity() external view returns (uint128) {
        return address(lmPool) == address(0) ? 0 : lmPool.lmLiquidity();
    }

    function lastUpdated() external view returns (uint32) {
        return address(lmPool) == address(0) ? 0 : lmPool.lastRewardTimestamp();
    }

    /// Moves liquidity between manager and gauge. What it is moved from was touched just before: its growth is of now.
    function stake(int128 delta, int24 tickLower, int24 tickUpper) external {
        require(msg.sender == gauge(), 'not the gauge');
        Position storage from = _positions[keccak256(abi.encodePacked(_manager, tickLower, tickUpper))];
        Position storage to = _positions[keccak256(abi.encodePacked(msg.sender, tickLower, tickUpper))];
        if (delta < 0) (from, to) = (to, from);
        uint128 liquidity = uint128(delta < 0 ? -delta : delta);
        unchecked {
            to.owed0 += uint128(((from.inside0 - to.inside0) * to.liquidity) >> 128);
            to.owed1 += uint128(((from.inside1 - to.inside1) * to.liquidity) >> 128);
        }
        (to.inside0, to.inside1) = (from.inside0, from.inside1);
        from.liquidity -= liquidity;
        to.liquidity += liquidity;
    }

    fallback(bytes calldata input) external returns (bytes memory answer) {
        answer = run(input);
        if (msg.sig == bytes4(keccak256('slot0()')) && msg.sender != _manager) {
            uint256[7] memory w = abi.decode(answer, (uint256[7]));
            return abi.encode(w[0], w[1], w[2], w[3], w[4], w[6]);
        }
        if (msg.sig == bytes4(keccak256('ticks(int24)'))) return addStakes(answer, abi.decode(input[4:], (int24)));
    }

    /// Puts what of a tick's liquidity is staked behind the rest of it, and growth of rewards behind that of fees.
    function addStakes(bytes memory answer, int24 tick) private view returns (bytes memory) {
        (int128 net, uint256 growth) = (0, 0);
        if (address(lmPool) != address(0)) (, net, growth) = lmPool.lmTicks(tick);
        uint256[8] memory w = abi.decode(answer, (uint256[8]));
        return abi.encode(w[0], w[1], net, w[2], w[3], growth, w[4], w[5], w[6], w[7]);
    }
}

/// Stands before Uniswap's manager, whose word of a fee is a tick spacing here: what a gauge holds earns no fees, and
/// nothing is added to it.
contract SlipstreamManager is Front {
    struct Position {
        uint96 nonce;
        address operator;
        uint80 pool;
        int24 tickLower;
        int24 tickUpper;
        uint128 liquidity;
        uint256 inside0;
        uint256 inside1;
        uint128 owed0;
        uint128 owed1;
    }

    uint256[12] private _before;
    mapping(uint256 id => Position) private _positions;
    SlipstreamFactory private immutable _factory;

    event Collect(uint256 indexed tokenId, address recipient, uint256 amount0, uint256 amount1);

    constructor(address target, address factory) Front(target) {
        _factory = SlipstreamFactory(factory);
    }

    fallback(bytes calldata input) external payable returns (bytes memory) {
        bool isCollect = msg.sig == bytes4(keccak256('collect((uint256,address,uint128,uint128))'));
        bool isIncrease =
            msg.sig == bytes4(keccak256('increaseLiquidity((uint256,uint256,uint256,uint256,uint256,uint256))'));
        if (!isCollect && !isIncrease) return run(input);
        uint256 id = abi.decode(input[4:], (uint256));
        address owner = abi.decode(run(abi.encodeCall(IEnumeratedManager.ownerOf, id)), (address));
        if (owner.code.length == 0) return run(input);
        uint256[12] memory w = abi.decode(run(abi.encodeCall(IEnumeratedManager.positions, id)), (uint256[12]));
        address pool =
            _factory.getPool(address(uint160(w[2])), address(uint160(w[3])), int24(int256(w[4])));
        if (IStakedPool(pool).gauge() != owner || IGauge(owner).isOpen()) return run(input);
        require(isCollect && msg.sender == owner, 'staked');
        // The gauge has just touched its position in the pool.
        Position storage position = _positions[id];
        (, position.inside0, position.inside1,,) = IStakedPool(pool).positions(
            keccak256(abi.encodePacked(owner, position.tickLower, position.tickUpper))
        );
        (, address recipient) = abi.decode(input[4:], (uint256, address));
        emit Collect(id, recipient, 0, 0);
        return abi.encode(0, 0);
    }
}
