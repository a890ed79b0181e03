// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

interface IFarmedPool {
    function slot0() external view returns (uint160, int24, uint16, uint16, uint16, uint32, bool);
    function setLmPool(address) external;
}

interface IFarmFactory {
    function setLmPool(address pool, address lmPool) external;
}

interface IMasterChef {
    function getLatestPeriodInfo(address) external view returns (uint256, uint256);
}

/// A pool of rewards by the formula of PancakeSwap's own, which no package has: growth per liquidity that is staked and in
/// range, and what of it was outside each tick.
contract LmPool {
    struct Tick {
        uint128 liquidityGross;
        int128 liquidityNet;
        uint256 rewardGrowthOutsideX128;
    }

    address public immutable pool;
    address public immutable masterChef;
    uint256 public rewardGrowthGlobalX128;
    uint128 public lmLiquidity;
    uint32 public lastRewardTimestamp = uint32(block.timestamp);
    mapping(int24 tick => Tick) public lmTicks;

    constructor(address pool_, address masterChef_) {
        (pool, masterChef) = (pool_, masterChef_);
    }

    function accumulateReward(uint32 now_) external {
        require(msg.sender == pool || msg.sender == masterChef, 'not theirs');
        if (now_ <= lastRewardTimestamp) return;
        if (lmLiquidity != 0) rewardGrowthGlobalX128 += emitUntil(now_) / lmLiquidity;
        lastRewardTimestamp = now_;
    }

    function crossLmTick(int24 tick, bool zeroForOne) external {
        require(msg.sender == pool, 'not the pool');
        Tick storage crossed = lmTicks[tick];
        if (crossed.liquidityGross == 0) return;
        unchecked {
            crossed.rewardGrowthOutsideX128 = rewardGrowthGlobalX128 - crossed.rewardGrowthOutsideX128;
        }
        add(zeroForOne ? -crossed.liquidityNet : crossed.liquidityNet);
    }

    function updatePosition(int24 tickLower, int24 tickUpper, int128 delta) external {
        require(msg.sender == masterChef, 'not the MasterChef');
        int24 tick = readTick();
        update(tickLower, tick, delta, delta);
        update(tickUpper, tick, delta, -delta);
        if (tick >= tickLower && tick < tickUpper) add(delta);
    }

    function getRewardGrowthInside(int24 tickLower, int24 tickUpper) external view returns (uint256) {
        int24 tick = readTick();
        uint256 lower = lmTicks[tickLower].rewardGrowthOutsideX128;
        uint256 upper = lmTicks[tickUpper].rewardGrowthOutsideX128;
        unchecked {
            uint256 below = tick >= tickLower ? lower : rewardGrowthGlobalX128 - lower;
            uint256 above = tick < tickUpper ? upper : rewardGrowthGlobalX128 - upper;
            return rewardGrowthGlobalX128 - below - above;
        }
    }

    /// What is given away since the last update, in 2^-128 of a unit.
    function emitUntil(uint32 now_) internal virtual returns (uint256) {
        (uint256 rate, uint256 end) = IMasterChef(masterChef).getLatestPeriodInfo(pool);
        uint256 until = end < now_ ? end : now_;
        return until > lastRewardTimestamp ? (until - lastRewardTimestamp) * (rate * 2 ** 128 / 1e12) : 0;
    }

    function readTick() internal view virtual returns (int24 tick) {
        (, tick,,,,,) = IFarmedPool(pool).slot0();
    }

    function update(int24 at, int24 current, int128 delta, int128 net) private {
        Tick storage tick = lmTicks[at];
        if (tick.liquidityGross == 0 && at <= current) tick.rewardGrowthOutsideX128 = rewardGrowthGlobalX128;
        tick.liquidityGross = uint128(int128(tick.liquidityGross) + delta);
        tick.liquidityNet += net;
        if (tick.liquidityGross == 0) delete lmTicks[at];
    }

    function add(int128 delta) private {
        lmLiquidity = uint128(int128(lmLiquidity) + delta);
    }
}

/// What the MasterChef has pools of rewards made by. The factory lets it, and its owner, set them.
contract LmPoolDeployer {
    address public immutable factory;
    address public immutable masterChef;

    constructor(address factory_, address masterChef_) {
        (factory, masterChef) = (factory_, masterChef_);
    }

    function deploy(address pool) external returns (address lmPool) {
        require(msg.sender == masterChef, 'not the MasterChef');
        lmPool = address(new LmPool(pool, masterChef));
        IFarmFactory(factory).setLmPool(pool, lmPool);
    }
}

/// What CAKE of each period comes from.
contract FarmFunds {
    constructor(address cake, address masterChef) {
        (bool ok,) = cake.call(abi.encodeWithSignature('approve(address,uint256)', masterChef, type(uint256).max));
        require(ok);
    }

    function upkeep(address masterChef, uint256 amount, uint256 duration) external {
        (bool ok,) = masterChef.call(
            abi.encodeWithSignature('upkeep(uint256,uint256,bool)', amount, duration, true)
        );
        require(ok);
    }
}

/// Counts every position double.
contract Booster {
    function updatePositionBoostMultiplier(uint256) external pure returns (uint256) {
        return 2e12;
    }

    function removeBoostMultiplier(address, uint256, uint256) external pure {}
}

/// Answers each question with the code of an account that its address and the question name: so that a test may put the
/// recorded answers of any contract there.
contract Recorded {
    fallback() external {
        address place = address(uint160(uint256(keccak256(abi.encodePacked(address(this), msg.data)))));
        bytes memory answer = place.code;
        require(answer.length > 0);
        assembly ("memory-safe") {
            return(add(answer, 32), mload(answer))
        }
    }
}
